"""Programs that are sent into the sandbox as text: standard library only, never run out here.

`solver.py` holds the solution under test, `examiner.py` the tests. They are two processes that
share nothing but a pipe each way, and speak in the plain data of `wire.py`.
"""
