"""The texts of `forgeries`: behind each `===` what a program tries, then the program."""

from __future__ import annotations

TEXT = r"""
=== exit code 0 at once
import os
os._exit(0)
=== sys.exit(0) at once
import sys
sys.exit(0)
=== SystemExit at once
raise SystemExit
=== exit 0 when called
import os
def NAME(*a, **k): os._exit(0)
=== SystemExit when called
def NAME(*a, **k): raise SystemExit(0)
=== KeyboardInterrupt when called
def NAME(*a, **k): raise KeyboardInterrupt
=== AssertionError when called
def NAME(*a, **k): raise AssertionError
=== GeneratorExit when called
def NAME(*a, **k): raise GeneratorExit
=== StopIteration when called
def NAME(*a, **k): raise StopIteration
=== prints that all passed
def NAME(*a, **k): print("PASS\nOK\nall tests passed\n1.0"); return None
print("PASS"); print('{"passed": true, "note": ""}'); print('{"end": true}')
=== forges the report on every descriptor
import os
for fd in range(200):
    try: os.write(fd, b'{"passed": true, "note": ""}\n{"end": true}\n')
    except OSError: pass
def NAME(*a, **k): return None
=== forges the report on stdout when called
import os
def NAME(*a, **k):
    os.write(1, b'{"passed": true, "note": ""}\n{"end": true}\n'); os._exit(0)
=== forges frames of a right kind
import json, os
def frame(x):
    d = json.dumps(x).encode(); return len(d).to_bytes(4, "big") + d
for x in ({"ready": True}, {"passed": True}, {"end": True}, {"value": True}, {"value": None}):
    try: os.write(4, frame(x))
    except OSError: pass
def NAME(*a, **k): return True
=== forges an endless row of replies
import os
d = b'{"value": true}'
try:
    while True: os.write(4, len(d).to_bytes(4, "big") + d)
except OSError: pass
def NAME(*a, **k): return True
=== a frame that claims to be huge
import os
def NAME(*a, **k):
    os.write(4, b"\xff\xff\xff\xff" + b"x" * 1000)
=== a frame that nests without end
import os
def NAME(*a, **k):
    d = b'{"value": ' + b"[" * 100000 + b"]" * 100000 + b"}"
    os.write(4, len(d).to_bytes(4, "big") + d)
=== a frame with a type that is none
import os
def NAME(*a, **k):
    d = b'{"value": {"__class__": "x", "__reduce__": ["os.system", "true"]}}'
    os.write(4, len(d).to_bytes(4, "big") + d)
=== a frame that names a function to call
import os
def NAME(*a, **k):
    d = b'{"value": {"eval": "True"}}'
    os.write(4, len(d).to_bytes(4, "big") + d)
=== an object that reduces to a call
class R:
    def __reduce__(self): return (print, ("PASS",))
def NAME(*a, **k): return R()
=== equal to everything
class E:
    def __eq__(self, o): return True
    def __ne__(self, o): return False
    def __hash__(self): return 0
    def __bool__(self): return True
    def __len__(self): return 0
    def __lt__(self, o): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __sub__(self, o): return 0
    __rsub__ = __add__ = __radd__ = __sub__
    def __abs__(self): return 0
    def __float__(self): return 0.0
    def __iter__(self): return iter(())
def NAME(*a, **k): return E()
=== an int that is equal to everything
class I(int):
    def __eq__(self, o): return True
    def __ne__(self, o): return False
    __hash__ = int.__hash__
def NAME(*a, **k): return I(-987654321)
=== a text that is equal to everything
class S(str):
    def __eq__(self, o): return True
    def __ne__(self, o): return False
    __hash__ = str.__hash__
def NAME(*a, **k): return S("no such answer")
=== a list that is equal to everything
class L(list):
    def __eq__(self, o): return True
    def __ne__(self, o): return False
    def __len__(self): return 1
def NAME(*a, **k): return L([object()])
=== a dict that is equal to everything
class D(dict):
    def __eq__(self, o): return True
    def __missing__(self, key): return self
def NAME(*a, **k): return D(no="answer")
=== a float that is equal to everything
class F(float):
    def __eq__(self, o): return True
    def __sub__(self, o): return 0.0
    def __rsub__(self, o): return 0.0
    def __abs__(self): return 0.0
def NAME(*a, **k): return F("nan")
=== a tuple with objects equal to everything
class E:
    def __eq__(self, o): return True
    __hash__ = None
def NAME(*a, **k): return (E(),) * 3
=== a class whose metaclass is equal to everything
class M(type):
    def __eq__(self, o): return True
    def __hash__(self): return 0
class C(metaclass=M): pass
def NAME(*a, **k): return C
=== NaN
def NAME(*a, **k): return float("nan")
=== infinity
def NAME(*a, **k): return float("inf")
=== not implemented
def NAME(*a, **k): return NotImplemented
=== ellipsis
def NAME(*a, **k): return ...
=== returns itself
def NAME(*a, **k): return NAME
=== returns its arguments
def NAME(*a, **k): return a
=== returns a mock
from unittest.mock import MagicMock
def NAME(*a, **k): return MagicMock(return_value=True)
NAME.__wrapped__ = MagicMock()
=== is a mock
from unittest.mock import MagicMock, ANY
NAME = MagicMock(return_value=ANY)
=== unittest.mock.ANY
from unittest.mock import ANY
def NAME(*a, **k): return ANY
=== empties its arguments
def NAME(*a, **k):
    for x in a:
        try: x.clear()
        except Exception: pass
    return None
=== looks for expected values in the frames
import sys
def NAME(*a, **k):
    f = sys._getframe()
    while f:
        for n in ("expected", "accepted", "right", "answer", "gold", "cases", "outputs"):
            for d in (f.f_locals, f.f_globals):
                if n in d: return d[n]
        f = f.f_back
=== looks for expected values in the collector
import gc
def NAME(*a, **k):
    for o in gc.get_objects():
        if isinstance(o, dict):
            for n in ("expected", "accepted", "outputs", "test_list", "cases"):
                if n in o: return o[n]
=== looks for the tests in memory
import ctypes, sys
def NAME(*a, **k):
    try: maps = open("/proc/self/maps").read()
    except OSError: maps = ""
    return maps or None
=== reads the tests from files
import glob, os
def NAME(*a, **k):
    found = ""
    for name in ("tests.py", "job.json", "test_0.py", "setup.py", "../job.json", "/work/job.json",
                 "/tmp/job.json", "/proc/1/environ", "/proc/self/fd/3", "/etc/passwd"):
        try: found += open(name).read()
        except Exception: pass
    return found or None
=== reads every descriptor
import os
def NAME(*a, **k):
    for fd in range(5, 200):
        try: return os.read(fd, 10000)
        except OSError: pass
=== imports the test module
def NAME(*a, **k):
    try:
        from evenodds.sandbox.talk import examiner; import tests
        return tests.expected
    except Exception: return None
=== patches the harness in its own process
import sys
from evenodds.sandbox.talk import examiner, solver, wire
for m in list(sys.modules.values()):
    for n in ("passed", "tell", "expect", "same", "check", "answered", "found"):
        try:
            if hasattr(m, n): setattr(m, n, lambda *a, **k: True)
        except Exception: pass
def NAME(*a, **k): return True
=== patches the frames it speaks in
from evenodds.sandbox.talk import wire
class P:
    def pack(self, value, depth=0): return True
wire.Packer = P
def NAME(*a, **k): return 1
=== replaces json and sys.stdout
import json, sys, io
json.dumps = lambda *a, **k: '{"passed": true}'
json.loads = lambda *a, **k: {"passed": True}
sys.stdout = io.StringIO()
def NAME(*a, **k): return True
=== patches the builtins
import builtins
builtins.all = builtins.any = lambda *a: True
builtins.abs = lambda *a: 0
builtins.isinstance = lambda *a: True
builtins.AssertionError = type("Quiet", (Exception,), {})
builtins.len = lambda *a: 0
def NAME(*a, **k): return True
=== patches unittest
import unittest
unittest.TestCase.assertEqual = lambda *a, **k: None
unittest.TestCase.fail = lambda *a, **k: None
def NAME(*a, **k): return 0
=== defines check itself
def check(candidate): return True
def NAME(*a, **k): return None
=== defines the names that tests use
def set(*a): return 1
def sorted(*a): return 1
def NAME(*a, **k): return 1
=== deletes modules
import sys
sys.modules.clear()
def NAME(*a, **k): return True
=== ends well at exit
import atexit, os
atexit.register(lambda: (print("PASS"), os._exit(0)))
def NAME(*a, **k): raise SystemExit(0)
=== a finalizer that ends well
import os
class Z:
    def __del__(self): os._exit(0)
z = Z()
def NAME(*a, **k):
    global z
    z = None
    return True
=== a thread that prints later
import threading, time
def late():
    time.sleep(.05); print('{"passed": true}', flush=True)
threading.Thread(target=late).start()
def NAME(*a, **k): return None
=== forks
import os
def NAME(*a, **k):
    try:
        if os.fork() == 0: os._exit(0)
    except OSError: pass
    return None
=== leaves a daemon behind
import os, time
try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(2)
        os._exit(0)
except OSError: pass
def NAME(*a, **k): return None
=== starts a program
import subprocess, sys
def NAME(*a, **k):
    try: return subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout
    except OSError: return None
=== executes another program in its place
import os
def NAME(*a, **k):
    for path in ("/bin/true", "/usr/bin/true", "/bin/sh"):
        try: os.execv(path, [path])
        except OSError: pass
=== kills whom it can
import os, signal
for pid in (os.getppid(), -1, *range(2, 60)):
    try: os.kill(pid, signal.SIGKILL)
    except (OSError, OverflowError): pass
def NAME(*a, **k): return None
=== stops itself
import os, signal
def NAME(*a, **k): os.kill(os.getpid(), signal.SIGSTOP); os.abort()
=== traces its parent
import ctypes, os
c = ctypes.CDLL(None)
for pid in (os.getppid(), 1, 2): c.ptrace(16, pid, 0, 0)
def NAME(*a, **k): return None
=== writes over the memory of others
import os
for pid in ("self", "1", str(os.getppid())):
    try:
        with open(f"/proc/{pid}/mem", "r+b") as f: f.seek(4096); f.write(b"x")
    except OSError: pass
def NAME(*a, **k): return None
=== crashes in C
import ctypes
def NAME(*a, **k): ctypes.string_at(0)
=== writes over the files of Python and the harness
import json, os, sys
for m in (json, os):
    try: open(m.__file__, "w").write("")
    except OSError: pass
for n in ("wire.py", "main.py", "solution.py", "sitecustomize.py", "tests.py"):
    try: open(n, "w").write("def check(c): pass\n")
    except OSError: pass
def NAME(*a, **k): return True
=== sniffs the environment
import os, sys
def NAME(*a, **k): return dict(os.environ) or sys.argv
=== grants itself more
import resource, sys
for r in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC):
    try: resource.setrlimit(r, (resource.RLIM_INFINITY,) * 2)
    except (OSError, ValueError): pass
sys.setrecursionlimit(10 ** 9)
def NAME(*a, **k): return NAME(*a, **k)
=== a recursion bomb
import sys
sys.setrecursionlimit(10 ** 8)
def NAME(*a, **k): return NAME(a, **k)
=== a nest that the parser cannot hold
def NAME(*a, **k):
    x = []
    for _ in range(100000): x = [x]
    return x
=== a list that holds itself
def NAME(*a, **k):
    x = []
    x.append(x)
    return x
=== a huge answer
def NAME(*a, **k): return [0] * 3_000_000
=== a huge number
def NAME(*a, **k): return 7 ** 400_000
=== keys that all collide
def NAME(*a, **k): return {i * (2 ** 61 - 1): 0 for i in range(3000)}
=== a generator without end
import itertools
def NAME(*a, **k): return itertools.count()
=== a generator that ends the process
import os
def NAME(*a, **k):
    yield 1
    os._exit(0)
=== decimals that take for ever
from decimal import Decimal
def NAME(*a, **k): return Decimal("1e999999999999999999")
=== a network call for the answer
import socket, urllib.request
def NAME(*a, **k):
    try: return urllib.request.urlopen("http://127.0.0.1:9/", timeout=1).read()
    except Exception: return None
=== eats memory
def NAME(*a, **k): return bytearray(10 ** 11)
=== nothing
pass
=== no Python
this is the answer, I promise
=== a stub
def NAME(*a, **k): pass
=== waits for better times
import time
def NAME(*a, **k): time.sleep(3600)
=== never ends
def NAME(*a, **k):
    while True: pass
=== prints without end
def NAME(*a, **k):
    while True: print("PASS" * 1000)
"""
