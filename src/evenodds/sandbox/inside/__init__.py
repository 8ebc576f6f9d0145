"""What runs on the far side: the fork server and what confines a program.

These files are read by a bare Python (no site packages, nothing else of this package): they import
the standard library and each other, nothing more. No gold answer ever enters them.
"""
