"""What a run ran on, written down so that it can be repeated; never a secret."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evenodds.machine import cpu_name, usable_cores, usable_memory
from evenodds.masking import MASK, SECRET_NAME, known_secrets, masked

PACKAGES = [
    *("evenodds", "torch", "transformers", "peft", "safetensors", "tokenizers"),
    *("numpy", "pydantic", "pyarrow", "liger-kernel", "gguf", "vllm"),
]
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def package_versions() -> dict[str, str]:
    """Installed versions of the packages that can change a result; missing ones are left out."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _git_folder(start: Path) -> Path | None:
    for folder in (start.absolute(), *start.absolute().parents):
        entry = folder / ".git"
        if entry.is_dir():
            return entry
        pointer = _read(entry).strip()  # a work tree or submodule only points to its folder
        if pointer.startswith("gitdir: "):
            return folder / pointer.removeprefix("gitdir: ")
    return None


def git_commit(start: Path) -> str | None:
    """The commit that is checked out where `start` lies, or None.

    Read from the files: starting git would cost more, and could run a hook of a strange checkout.
    """
    git = _git_folder(start)
    if git is None:
        return None
    head = _read(git / "HEAD").strip()
    if not head.startswith("ref: refs/") or ".." in head:
        return head if COMMIT.fullmatch(head) else None
    name = head.removeprefix("ref: ")
    common = git / (_read(git / "commondir").strip() or ".")
    loose = (_read(folder / name).strip() for folder in (git, common))
    packed = (line.split() for line in _read(common / "packed-refs").splitlines())
    known = [*loose, *(parts[0] for parts in packed if parts[1:] == [name])]
    return next((commit for commit in known if COMMIT.fullmatch(commit)), None)


def _own_commit() -> str | None:
    package = Path(__file__).absolute().parents[1]
    return None if "site-packages" in package.parts else git_commit(package)


def mask_secrets(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> list[str]:
    """The command line with *** for what looks like a secret by its name or by its shape.

    The environment's own secrets are masked wherever they stand.
    """
    known = known_secrets(environment)
    found: list[str] = []
    secret_next = False
    for word in argv:
        name, equals, _ = word.partition("=")
        if secret_next and not word.startswith("--"):
            word = MASK
        elif equals and SECRET_NAME.search(name):
            word = f"{name}={MASK}"
        secret_next = not equals and word.startswith("-") and bool(SECRET_NAME.search(word))
        found.append(masked(word, known))
    return found


def environment_passport(
    argv: Sequence[str], facts: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Packages, system, hardware, commit and command line as plain JSON values.

    facts: what only the caller knows, such as device, dtype, threads, seed and parameters.
    """
    return {
        "packages": package_versions(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": cpu_name(),
        "cores": usable_cores(),
        "cores_of_machine": os.cpu_count() or 1,
        "memory_bytes": usable_memory(),
        "git_commit": git_commit(Path.cwd()),
        "evenodds_commit": _own_commit(),
        "command": mask_secrets(argv),
        **(facts or {}),
    }
