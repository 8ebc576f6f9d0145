"""One wrong request: the files it needs, what is asked, and what its answer must say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.requests.asked import Answer, ask

UNFORESEEN = ("Traceback", "should not happen", "Warning")
TRAIN = ("train", "c.toml")


@dataclass(frozen=True)
class Broken:
    """says: words that the line must have. meant: what a misspelling should have been.

    content: of `c.toml`. make: puts other files into the folder. codes: exits that are right.
    seconds: how long it may take. lenient: it may also be fine, and may write what it is for.
    """

    kind: str
    what: str
    arguments: Sequence[str] = TRAIN
    says: tuple[str, ...] = ()
    meant: str = ""
    content: bytes | None = None
    make: Callable[[Path], object] | None = None
    codes: tuple[int, ...] = (2,)
    seconds: float = 2.0
    stdin: str = ""
    lenient: bool = False

    def put(self, folder: Path) -> None:
        if self.content is not None:
            (folder / "c.toml").write_bytes(self.content)
        if self.make is not None:
            self.make(folder)

    def is_meant(self, answer: Answer) -> bool:
        """Whether the line suggests what was meant, first or among what is equally near."""
        hint = answer.err.partition("Did you mean ")[2].partition("?")[0]
        return repr(self.meant) in hint.split(" or ")

    def faults(self, answer: Answer) -> list[str]:
        found = self._lenient(answer) if self.lenient else answer.faults(self.codes, self.says)
        slow = answer.seconds > self.seconds
        return [*found, f"took {answer.seconds:.1f} s"] if slow else found

    @staticmethod
    def _lenient(answer: Answer) -> list[str]:
        """Refused in one line, or done without one that nobody foresaw."""
        if answer.raised.startswith("GotThrough"):  # with a folder for the run, and nothing else
            outside = [name for name in answer.changed if "runs" not in Path(name).parts]
            return [f"wrote {name}" for name in outside]
        if answer.code in (1, 2):
            return replace(answer, changed=()).faults((1, 2))
        odd = [word for word in UNFORESEEN if word in answer.err]
        return [f"raised {answer.raised}"] if answer.raised else [f"says {word}" for word in odd]


def answered(one: Broken, folder: Path) -> Answer:
    one.put(folder)
    return ask(one.arguments, folder, stdin=one.stdin)
