"""Calls that turn data into code, or open the machine: none in the package; and the test can fail.

What is looked for stands in `forbidden.py`, with every exception and its reason.
"""

from __future__ import annotations

import pytest

from tests.shape.forbidden import ALLOWED, count, found_in, offences, page_offences, unused

FOUND = [
    "eval(x)",
    "exec(x)",
    "compile(x, 'f', 'exec')",
    "__import__(x)",
    "breakpoint()",
    "import builtins\nbuiltins.eval(x)",
    "from builtins import exec as run\nrun(x)",
    "e = eval\ne(x)",
    "__builtins__['eval'](x)",
    "getattr(__builtins__, 'eval')(x)",
    "globals()['exec'](x)",
    "import os\nos.system(x)",
    "from os import system as s\ns(x)",
    "import os as o\no.popen(x)",
    "import os\nrun = os.system\nrun(x)",
    "import os\ngetattr(os, 'system')(x)",
    "import os\nvars(os)['system'](x)",
    "import os\nos.spawnl(0, '/bin/sh', x)",
    "import os\nos.execv('/bin/sh', x)",
    "import pickle",
    "from pickle import loads",
    "import _pickle as p",
    "import dill, joblib",
    "import shelve",
    "import marshal",
    "import cloudpickle",
    "import numpy as np\nnp.load(x, allow_pickle=True)",
    "import numpy as np\nnp.load(x)",
    "read(x, allow_pickle=kept)",
    "import pandas as pd\npd.read_pickle(x)",
    "import torch\ntorch.load(x)",
    "import torch\ntorch.load(x, weights_only=True)",
    "from torch import load\nload(x)",
    "import torch\ntorch.save(x, y)",
    "import torch\ntorch.jit.load(x)",
    "import torch\ntorch.hub.load(x, y)",
    "import yaml\nyaml.load(x)",
    "from yaml import unsafe_load",
    "import subprocess\nsubprocess.run(x, shell=True)",
    "import subprocess\nsubprocess.run(x, shell=is_shell)",
    "import subprocess\nsubprocess.run('ls -l')",
    "import subprocess\nsubprocess.run(f'ls {x}')",
    "import subprocess\nsubprocess.Popen(['sh', '-c', x])",
    "from subprocess import getoutput",
    "m.from_pretrained(x, trust_remote_code=True)",
    "m.from_pretrained(x, trust_remote_code=chosen)",
    "m.from_pretrained(x, trust_remote_code=not False)",
    "HOST = '0.0.0.0'",
    "s.connect(('::', 80))",
    "serve(host='::')",
    "import importlib\nimportlib.import_module(x)",
    "from importlib import import_module as load\nload(x)",
    "import importlib.util\nimportlib.util.spec_from_file_location('a', x)",
    "import runpy",
    "import ctypes",
    "from ctypes import CDLL",
    "import tempfile\ntempfile.mktemp()",
    "import xml.etree.ElementTree",
    "from xml.dom import minidom",
    "from lxml import etree",
    "import requests",
    "from urllib.request import urlopen",
    "import urllib.request",
    "import http.client",
    "import webbrowser",
    "from http import server\nimport http.server",
    "import socketserver",
    "s.bind(('127.0.0.1', 0))",
    "s.listen()",
    "import jinja2\njinja2.Environment()",
    "import jinja2\njinja2.Environment(autoescape=False)",
    "from jinja2 import Environment\nEnvironment(autoescape=is_html)",
    "import jinja2\njinja2.Template(x)",
    "from markupsafe import Markup\nMarkup(x)",
    "import types\ntypes.FunctionType(c, {})",
    "list(map(eval, texts))",
    "def run(text, how=exec): return how(text)",
    "return_ = [eval][0]",
    "import functools\nrun = functools.partial(eval, x)",
    "(e := eval)(x)",
    "import os\nrun: object = os.system\nrun(x)",
    "import os\nlist(map(os.system, texts))",
    "import os, operator\noperator.attrgetter('system')(os)(x)",
    "import operator\noperator.methodcaller('system', x)(os)",
    "import subprocess\nsubprocess.run(x, **{'shell': True})",
    "m.from_pretrained(x, **{'trust_remote_code': True})",
    "options = {'allow_pickle': chosen}",
    "import subprocess\nsubprocess.run(['/usr/bin/env', 'sh', '-c', x])",
    "import subprocess\nsubprocess.run([x], executable='/bin/sh')",
    "import subprocess\nsubprocess.run('ls {}'.format(x))",
    "import asyncio\nasyncio.create_subprocess_exec('bash', '-c', x)",
    "import os\nos.posix_spawn(x, [x], {})",
    "import os\nos.execvp('/usr/bin/bash', x)",
    "import timeit\ntimeit.timeit(x)",
    "import cProfile\ncProfile.run(x)",
    "from pydoc import locate\nlocate(x)",
    "import pkgutil\npkgutil.resolve_name(x)",
    "from importlib.machinery import SourceFileLoader\nSourceFileLoader('a', x)",
    "import importlib\nimportlib.__import__(x)",
    "import typing\ntyping.get_type_hints(x)",
    "import site\nsite.addsitedir(x)",
    "import logging.config\nlogging.config.dictConfig(x)",
    "import asyncio\nasyncio.start_server(f, '127.0.0.1', 0)",
    "from multiprocessing.managers import BaseManager",
    "import tarfile\ntarfile.open(x).extractall()",
    "import shutil\nshutil.unpack_archive(x)",
    "from jinja2.nativetypes import NativeEnvironment\nNativeEnvironment()",
    "from jinja2.environment import Environment\nEnvironment()",
    "from jinja2.sandbox import ImmutableSandboxedEnvironment\nImmutableSandboxedEnvironment()",
    "import torch\ntorch.ops.load_library(x)",
]
NOT_FOUND = [
    "import re\nre.compile(x)",
    "model.eval()",
    "policy.model.eval().requires_grad_(False)",
    "def evaluate(x): return x",
    "text = 'eval(x); os.system(y)'",
    "# import pickle",
    "import json\njson.load(x)",
    "from safetensors.torch import load_file\nload_file(x)",
    "import numpy as np\nnp.save(x, y, allow_pickle=False)",
    "import tomllib\ntomllib.load(x)",
    "import yaml\nyaml.safe_load(x)",
    "import subprocess\nsubprocess.run([program, 'x'], check=False)",
    "import subprocess\nsubprocess.Popen(['git', x], shell=False)",
    "m.from_pretrained(x, trust_remote_code=False)",
    "HOST = '127.0.0.1'",
    "'::'.join(parts)",
    "from urllib.parse import urlsplit",
    "from importlib.resources import files",
    "from importlib.metadata import version",
    "import tempfile\ntempfile.mkdtemp()",
    "getattr(task, 'options', None)",
    "import jinja2\njinja2.Environment(autoescape=True)",
    "import socket\nsocket.socketpair()",
    "import os\nos.replace(a, b)",
    "import torch\ntorch.compile",
    "judge.listen",
]
PAGES_FOUND = [
    ("a.j2", "{{ text|safe }}"),
    ("a.j2", "{{ text | safe }}"),
    ("a.j2", "{% autoescape false %}"),
    ("a.j2", "<button onclick='go()'>"),
    ("a.j2", "<img src=x\n onerror = go>"),
    ("a.j2", "<a href='javascript:go()'>"),
    ("a.j2", "<script>let x = {{ x }}</script>"),
    ("a.j2", "<script src=https://cdn.example/x.js></script>"),
    ("a.j2", "<link href='//cdn.example/x.css'>"),
    ("a.js", "part.innerHTML = text"),
    ("a.js", "part.outerHTML += text"),
    ("a.js", "part.insertAdjacentHTML('beforeend', text)"),
    ("a.js", "document.write(text)"),
    ("a.js", "eval(text)"),
    ("a.js", "new Function(text)"),
    ("a.js", "setTimeout('go()', 1)"),
    ("a.js", "one.setAttribute('onclick', text)"),
    ("a.js", "fetch('https://example.org')"),
    ("a.js", "location = 'javascript:go()'"),
]
PAGES_NOT_FOUND = [
    ("a.j2", "{{ text|safe_text }}"),
    ("a.j2", "{{ text }}, on time = late"),
    ("a.j2", "<script src='{{ place.static }}viewer.js' defer></script>"),
    ("a.js", "if (other.innerHTML === part.innerHTML) return"),
    ("a.js", "part.textContent = text"),
    ("a.js", "setTimeout(() => go(), 1)"),
    ("a.js", "one.addEventListener('click', go)"),
]


def test_nothing_forbidden_stands_in_the_package() -> None:
    assert list(found_in()) == []
    assert count() > 500


def test_every_exception_is_needed_and_has_a_reason() -> None:
    assert unused() == []
    assert all(reason for files in ALLOWED.values() for reason in files.values())


@pytest.mark.parametrize("source", FOUND)
def test_what_must_be_found_is_found(source: str) -> None:
    assert offences(source)


@pytest.mark.parametrize("source", NOT_FOUND)
def test_what_is_fine_is_let_through(source: str) -> None:
    assert offences(source) == []


@pytest.mark.parametrize(("name", "text"), PAGES_FOUND)
def test_what_must_be_found_in_a_page_is_found(name: str, text: str) -> None:
    assert page_offences(name, text)


@pytest.mark.parametrize(("name", "text"), PAGES_NOT_FOUND)
def test_what_is_fine_in_a_page_is_let_through(name: str, text: str) -> None:
    assert page_offences(name, text) == []
