"""Two programs that talk: `solver` holds a solution under test, `examiner` the tests.

They run in the sandbox, in two processes that share nothing but a pipe each way, and speak in the
plain data of `wire`. The server has them imported before it forks. Standard library only; tests
reach the examiner as files of its own, never the server and never the solver.
"""
