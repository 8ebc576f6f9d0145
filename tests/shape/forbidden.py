"""What may not stand in the package: calls that turn data into code, or open the machine.

`offences` reads one source by its syntax tree, so that a name in a text or a comment is no
offence, and a second name for a forbidden thing is one. `ALLOWED` says where an exception is made,
and why.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "evenodds"

BUILTINS = {"eval", "exec", "compile", "__import__", "breakpoint"}
CALLS = {  # by their full names; what is imported under another name is followed
    *("builtins.eval", "builtins.exec", "builtins.compile", "builtins.__import__"),
    *("os.system", "os.popen", "os.startfile", "pty.spawn", "subprocess.getoutput"),
    *("subprocess.getstatusoutput", "asyncio.create_subprocess_shell", "commands.getoutput"),
    *(f"os.spawn{end}" for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    *("torch.load", "torch.save", "torch.jit.load", "torch.hub.load", "torch.package"),
    *("torch.serialization.load", "torch.utils.cpp_extension.load", "torch.export.load"),
    *("torch.hub.load_state_dict_from_url", "torch.jit.save", "numpy.lib.format.read_array"),
    *("yaml.load", "yaml.unsafe_load", "yaml.full_load", "yaml.load_all", "yaml.Loader"),
    *("yaml.UnsafeLoader", "yaml.FullLoader", "pandas.read_pickle", "pandas.eval"),
    *("pandas.io.pickle.read_pickle", "numpy.load", "numpy.fromregex", "tempfile.mktemp"),
    *("importlib.reload", "importlib.util.spec_from_file_location", "importlib.import_module"),
    *("runpy.run_path", "runpy.run_module", "code.interact", "code.InteractiveInterpreter"),
    *("types.FunctionType", "types.CodeType", "webbrowser.open", "socket.create_server"),
    *("zipimport.zipimporter", "gc.get_objects", "sys.setrecursionlimit"),
    *("jinja2.Template", "multiprocessing.connection.Listener", "ssl._create_unverified_context"),
    *("importlib.__import__", "importlib.machinery.SourceFileLoader", "pkgutil.resolve_name"),
    *("importlib.machinery.ExtensionFileLoader", "importlib.machinery.SourcelessFileLoader"),
    *("pydoc.locate", "pydoc.safeimport", "site.addsitedir", "sys.settrace", "sys.addaudithook"),
    *("typing.get_type_hints", "typing.ForwardRef", "inspect.get_annotations", "os.posix_spawn"),
    *("logging.config.listen", "logging.config.dictConfig", "logging.config.fileConfig"),
    *("asyncio.start_server", "asyncio.start_unix_server", "shutil.unpack_archive"),
    *(
        "torch.utils.cpp_extension.load_inline",
        "torch.ops.load_library",
        "torch.classes.load_library",
    ),
    *("transformers.dynamic_module_utils.get_class_from_dynamic_module", "os.posix_spawnp"),
    *("jinja2.nativetypes.NativeEnvironment", "jinja2.environment.Template", "sys._getframe"),
    *("numpy.lib.npyio.load", "numpy.ctypeslib.load_library", "uvicorn.run"),
}
MODULES = {
    *("pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"),
    *("jsonpickle", "pickle5", "imp", "telnetlib", "ftplib", "smtplib", "xmlrpc", "http.server"),
    *("socketserver", "wsgiref", "requests", "httpx", "aiohttp", "urllib3", "http.client"),
    *("xml", "lxml", "defusedxml", "xmltodict", "commands", "pty", "ctypes", "cffi"),
    *("urllib.request", "webbrowser", "runpy", "code", "codeop", "zipimport", "smtpd"),
    *("timeit", "cProfile", "profile", "pdb", "bdb", "trace", "doctest", "copyreg"),
    *("multiprocessing.managers", "multiprocessing.shared_memory", "concurrent.interpreters"),
    *("tarfile", "zipfile", "plistlib", "crypt", "imaplib", "poplib", "nntplib", "dbm"),
}
TRUE_ONLY_FALSE = {"trust_remote_code", "allow_pickle", "shell"}
"""Keywords that may only be given as a literal False."""
SHELLS = {"sh", "bash", "/bin/sh", "/bin/bash", "cmd", "cmd.exe", "powershell", "zsh", "dash"}
SUBPROCESS = {"run", "Popen", "call", "check_call", "check_output"}
LISTENS = {"bind", "listen"}
MARKUP = {"markupsafe.Markup", "jinja2.Markup", "jinja2.utils.markupsafe.Markup"}
ENVIRONMENTS = {
    *("jinja2.Environment", "jinja2.environment.Environment"),
    *("jinja2.sandbox.SandboxedEnvironment", "jinja2.sandbox.ImmutableSandboxedEnvironment"),
}
KEYS = {*BUILTINS, "system", "popen"}
"""Names by which a forbidden thing is taken out of a table, or of an object by a helper."""
BY_NAME = {"getattr", "operator.attrgetter", "operator.methodcaller"}

ALLOWED: dict[str, dict[str, str]] = {  # offence -> file -> why
    "importlib.import_module": {
        "cli/__init__.py": "of our own commands, by a name in a table",
        "cli/commands/lab.py": "of our own commands, by a name in a table",
        "judge/__init__.py": "of our own modules, by a name in a table",
        "lab/__init__.py": "of our own modules, by a name in a table",
        "sinks/choose.py": "of our own modules, by a name in a table",
        "viewer/loading.py": "of torch and ours, by names in a table",
        "tasks/hub.py": "of the library datasets",
        "tasks/gym/generator.py": "of the library reasoning_gym",
        "own.py": "a person's own `module:name`, from a command line or a config of theirs",
        "sandbox/inside/server.py": "inside the sandbox: modules of the standard library, by name",
        "sandbox/talk/examiner.py": "inside the sandbox",
    },
    "importlib.util.spec_from_file_location": {
        "own.py": "a person's own `file.py:name`, from a command line or a config of theirs",
        "sandbox/inside/runner.py": "inside the sandbox: the program that is judged",
        "sandbox/talk/solver.py": "inside the sandbox: the program that is judged",
        "sandbox/talk/examiner.py": "inside the sandbox: the tests of the program",
    },
    "sys.setrecursionlimit": {
        "undisturbed/of_python.py": "to put back what a person's code has set"
    },
    "ctypes": {
        "sandbox/inside/libc.py": "system calls that close the sandbox",
        "sandbox/inside/seccomp.py": "system calls that close the sandbox",
        "sandbox/inside/landlock.py": "system calls that close the sandbox",
    },
    "urllib.request": {"policies/quiet.py": "getproxies alone: whether there is a proxy"},
    "webbrowser": {"viewer/serve.py": "`inspect --open` alone, with our own address"},
    "webbrowser.open": {"viewer/serve.py": "`inspect --open` alone, with our own address"},
    "bind": {"viewer/serve.py": "the viewer, on 127.0.0.1 alone"},
    "listen": {
        "sandbox/pump.py": "a method of ours: what a program says is read",
        "viewer/serve.py": "the viewer, on 127.0.0.1 alone",
    },
    "a page that is parsed": {
        "viewer/static/viewer.js": "of our own server, as a whole document, in which nothing runs",
    },
    "Markup": {
        "viewer/marks.py": "spans around text that was escaped there",
        "viewer/pages.py": "a picture that report/svg.py made, which escapes",
        "report/html.py": "a picture that report/svg.py made, which escapes",
    },
}


class Reader(ast.NodeVisitor):
    """Collects offences of one source. Names are followed through imports and assignments."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.found: list[str] = []

    def note(self, what: str) -> None:
        self.found.append(what)

    def full(self, node: ast.expr) -> str:
        """The dotted name that an expression stands for, empty where it is none."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            inner = self.full(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        if isinstance(node, ast.Call) and self.full(node.func) == "getattr":
            return self._by_getattr(node)
        return ""

    def _by_getattr(self, node: ast.Call) -> str:
        """`getattr(os, "system")` is `os.system`."""
        match node.args:
            case [owner, ast.Constant(value=str(name)), *_]:
                return f"{self.full(owner)}.{name}"
            case _:
                return ""

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._module(alias.name)
            top = alias.name if alias.asname else alias.name.partition(".")[0]
            self.names[alias.asname or top] = ALIASES.get(top, top)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self._module(module)
        for alias in node.names:
            whole = f"{module}.{alias.name}"
            self._module(whole)
            self.names[alias.asname or alias.name] = whole
            if whole in CALLS and whole not in LOADERS:
                self.note(whole)

    def _module(self, name: str) -> None:
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            if (start := ".".join(parts[:length])) in MODULES:
                self.note(start)

    def visit_Assign(self, node: ast.Assign) -> None:
        """`run = os.system` gives a forbidden thing another name."""
        whole = self.full(node.value)
        if whole in CALLS or whole in BUILTINS:
            self.note(whole)
        for target in node.targets:
            self._named(target, node.value)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        whole = self.full(node)
        if whole in CALLS:
            self.note(whole)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """`map(eval, texts)`: what is handed on is called by somebody else."""
        if isinstance(node.ctx, ast.Load):
            whole = self.names.get(node.id, node.id)
            if whole in BUILTINS or whole in CALLS:
                self.note(whole)

    def visit_Dict(self, node: ast.Dict) -> None:
        """`{"shell": True}` may be given as keywords."""
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._keyword(ast.keyword(key.value, value))
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._named(node.target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._named(node.target, node.value)
        self.generic_visit(node)

    def _named(self, target: ast.expr, value: ast.expr) -> None:
        """`run = os.system` gives a forbidden thing another name."""
        whole = self.full(value)
        if isinstance(target, ast.Name) and "." in whole:
            self.names[target.id] = whole

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """`__builtins__["eval"]`, `globals()["eval"]`, `vars(os)["system"]`."""
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(key, str) and key in KEYS:
            self.note(key)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if node.value == "0.0.0.0":
            self.note(node.value)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        """`("::", 80)` is an address; `"::"` alone may be a mark between words."""
        self._address(node.elts[0] if node.elts else None)
        self.generic_visit(node)

    def _address(self, node: ast.expr | None) -> None:
        if isinstance(node, ast.Constant) and node.value in ("::", "[::]"):
            self.note("::")

    def visit_Call(self, node: ast.Call) -> None:
        whole = self.full(node.func)
        if isinstance(node.func, ast.Name) and whole in BUILTINS:
            self.note(whole)
        if whole in BY_NAME:
            self._called_by_getattr(node)
        if isinstance(node.func, ast.Name) and whole in CALLS:
            self.note(whole)
        for keyword in node.keywords:
            self._keyword(keyword)
        self._process(node, whole)
        self._socket(node)
        self._markup(node, whole)
        self.generic_visit(node)

    def _called_by_getattr(self, node: ast.Call) -> None:
        whole = self._by_getattr(node)
        words = [one.value for one in node.args if isinstance(one, ast.Constant)]
        if whole in CALLS or whole.rpartition(".")[2] in BUILTINS:
            self.note(whole)
        for word in words:
            if str(word).rpartition(".")[2] in KEYS:
                self.note(str(word))

    def _keyword(self, keyword: ast.keyword) -> None:
        is_false = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        if keyword.arg in TRUE_ONLY_FALSE and not is_false:
            self.note(str(keyword.arg))
        if keyword.arg in ("host", "address", "bind", "interface"):
            self._address(keyword.value)

    def _process(self, node: ast.Call, whole: str) -> None:
        """A program is started by a list, never by a text, and no shell is."""
        module, _, name = whole.rpartition(".")
        first = node.args[0] if node.args else None
        if module == "subprocess" and name in SUBPROCESS:
            if isinstance(first, ast.JoinedStr | ast.BinOp) and not _is_list(first):
                self.note("a program as text")
            if isinstance(first, ast.Constant) or _is_made_text(first):
                self.note("a program as text")
        words = first.elts if isinstance(first, ast.List | ast.Tuple) else node.args
        started = module == "subprocess" or name.startswith(("exec", "posix_spawn"))
        given = [*words, *(one.value for one in node.keywords if one.arg == "executable")]
        if (started or name == "create_subprocess_exec") and any(map(_is_shell, given)):
            self.note("a shell")

    def _socket(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in LISTENS:
            self.note(name)

    def _markup(self, node: ast.Call, whole: str) -> None:
        if whole in MARKUP:
            self.note("Markup")
        if whole in ENVIRONMENTS:
            escaped = [k for k in node.keywords if k.arg == "autoescape"]
            value = escaped[0].value if escaped else None
            if not isinstance(value, ast.Constant) or value.value is not True:
                self.note("templates without autoescape")


ALIASES = {"np": "numpy", "pd": "pandas"}
LOADERS = {"importlib.import_module", "importlib.util.spec_from_file_location"}
"""Noted where they are used, not where they are imported."""


def _is_shell(node: ast.expr) -> bool:
    """`/usr/bin/env sh` is one too."""
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and (text in SHELLS or text.rpartition("/")[2] in SHELLS)


def _is_made_text(node: ast.expr | None) -> bool:
    """`"ls {}".format(x)`, `" ".join(x)`."""
    owner = (
        node.func.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        else None
    )
    return isinstance(owner, ast.Constant) and isinstance(owner.value, str)


def _is_list(node: ast.expr) -> bool:
    """`[*a] + [*b]` is a list."""
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    return any(isinstance(part, ast.List | ast.ListComp) for part in parts)


def offences(source: str) -> list[str]:
    """What a Python source must not do, each by its name."""
    reader = Reader()
    reader.visit(ast.parse(source))
    return reader.found


TEMPLATE = {
    "|safe": re.compile(r"\|\s*safe\b"),
    "autoescape off": re.compile(r"\{%-?\s*autoescape\s+false", re.IGNORECASE),
    "an event handler": re.compile(r"<[a-z][^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "a script from elsewhere": re.compile(
        r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", re.IGNORECASE
    ),
    "a javascript address": re.compile(r"javascript:", re.IGNORECASE),
}
SCRIPT = {
    "innerHTML": re.compile(r"\.\s*(?:innerHTML|outerHTML)\s*\+?=(?!=)|insertAdjacentHTML"),
    "document.write": re.compile(r"document\s*\.\s*write|createContextualFragment"),
    "a page that is parsed": re.compile(r"DOMParser"),
    "eval": re.compile(r"\beval\s*\(|new\s+Function|set(?:Timeout|Interval)\s*\(\s*[\"'`]"),
    "a handler by name": re.compile(r"setAttribute\s*\(\s*[\"'`]on"),
    "an address from elsewhere": re.compile(r"[\"'`]https?://"),
    "a javascript address": re.compile(r"javascript:", re.IGNORECASE),
}


def page_offences(name: str, text: str) -> list[str]:
    """What a template, a style sheet or a script of ours must not hold."""
    rules = SCRIPT if name.endswith(".js") else TEMPLATE
    found = [what for what, rule in rules.items() if rule.search(text)]
    if name.endswith(".j2") and re.search(r"<script[^>]*>[^<]", text):
        found.append("a script in a page")
    return found


def found_in(source: Path = SOURCE) -> Iterator[tuple[str, str]]:
    """File and offence, over the whole package, but for what is allowed."""
    for file in sorted(source.rglob("*")):
        name = file.relative_to(source).as_posix()
        if file.suffix == ".py":
            for what in offences(file.read_text(encoding="utf-8")):
                if name not in ALLOWED.get(what, {}):
                    yield name, what
        elif file.suffix in (".j2", ".js", ".css", ".html", ".svg"):
            for what in page_offences(file.name, file.read_text(encoding="utf-8")):
                if name not in ALLOWED.get(what, {}):
                    yield name, what


def unused() -> list[tuple[str, str]]:
    """Exceptions that nothing needs any more."""
    stale: list[tuple[str, str]] = []
    for what, files in ALLOWED.items():
        for name in files:
            path = SOURCE / name
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            found = offences(text) if name.endswith(".py") else page_offences(name, text)
            if what not in found:
                stale.append((name, what))
    return stale


def count() -> int:
    """The files that are read."""
    kinds = {".py", ".j2", ".js", ".css", ".html", ".svg"}
    return sum(path.suffix in kinds for path in SOURCE.rglob("*"))
