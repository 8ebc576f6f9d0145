"""Where a command's `--plot` goes: checked before the work, written after it."""

from __future__ import annotations

from pathlib import Path

from evenodds.errors import RunError, UsageError


def plot_target(name: str | None) -> Path | None:
    """The file that `--plot` names; None without one. Raises `UsageError` for no .svg or folder."""
    if name is None:
        return None
    target = Path(name)
    if target.suffix != ".svg":
        raise UsageError(f"the picture is an SVG file. Got --plot {name!r}. Name a FILE.svg.")
    if not target.parent.is_dir():
        raise UsageError(f"{str(target.parent)!r} is no folder. Got --plot {name!r}. Make it.")
    return target


def write_plot(target: Path, svg: str, quiet: bool = False) -> None:
    """Write the picture and say so. Raises `RunError` where it cannot be written."""
    try:
        target.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot write {str(target)!r}: {error.strerror}. Name another.") from None
    if not quiet:
        print(f"\npicture: {target}")
