"""evenodds explain [CONFIG.toml]"""

from __future__ import annotations

import json
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from evenodds.cli.flags import Parser, add_settings, config_of, given
from evenodds.cli.pictures import plot_target, write_plot
from evenodds.errors import UsageError
from evenodds.run.config import Config

if TYPE_CHECKING:
    from evenodds.lab.explain import Asked
    from evenodds.report.explain import Explanation

USAGE = "[CONFIG.toml] [--SETTING VALUE ...] [--plot FILE.svg] [--json]"
ABOUT = """\
What a configuration will do, before it runs. It takes what `evenodds train` takes.

Shown are the objective as a formula with its numbers, what each token of an example group weighs
and why, from which ratio on a token is no longer pushed, how many groups will teach anything at
each solve rate, and what may surprise. No model is loaded; all numbers come from the code that
trains.
"""
EPILOG = """examples:
  evenodds explain                                  the defaults of train
  evenodds explain my.toml --plot objective.svg     a config, and a picture
  evenodds explain --objective grpo --rewards 1,0,1 --lengths 2,5,8 --sampling.max_tokens 8
  evenodds explain --objective.surrogate my.py:name a surrogate of your own

docs/explain.md says what each part means.
"""
SECTIONS = (  # those that change what is shown come first; the others are there as in train
    "objective",
    "sampling",
    "learner",
    "curriculum",
    "policy",
    "task",
    "judge",
    "evaluation",
    "run",
)


def _parser() -> Parser:
    parser = Parser("explain", USAGE, ABOUT, EPILOG)
    parser.add_argument("config", nargs="?", help="TOML file, as for train")
    example = parser.add_argument_group("the example group, and where it goes")
    example.add_argument(
        "--rewards", metavar="1,0,1", help="the verifier's scores; x: could not be judged"
    )
    example.add_argument(
        "--lengths", metavar="2,5,8", help="tokens of each answer; 8+: cut by a budget of 8"
    )
    example.add_argument("--plot", metavar="FILE.svg", help="write a picture")
    example.add_argument("--json", action="store_true", help="print data instead of text")
    add_settings(parser, sections=SECTIONS)
    return parser


def main(arguments: list[str]) -> int:
    found = _parser().parse(arguments)
    config = config_of(found.config, given(found))
    target = plot_target(found.plot)
    scores, lengths = _scores(found.rewards), _lengths(found.lengths)
    from evenodds.lab.explain import explained

    explanation = explained(config, _asked(config, scores, lengths))
    if found.json:
        print(json.dumps(explanation.to_dict(), ensure_ascii=False, allow_nan=False, indent=1))
    else:
        _print(explanation)
    if target is not None:
        from evenodds.lab.explain.picture import svg_of

        write_plot(target, svg_of(explanation), quiet=found.json)
    return 0


def _print(explanation: Explanation) -> None:
    from evenodds.report.explain_text import WIDTH, lines_of

    for line in lines_of(explanation, get_terminal_size(fallback=(WIDTH, 24)).columns):
        print(line)


def _scores(text: str | None) -> list[float | None]:
    """`1,0,x` -> [1.0, 0.0, None]; empty where nothing was given."""
    return [] if text is None else [_score(part.strip()) for part in text.split(",")]


def _score(part: str) -> float | None:
    if part == "x":
        return None
    try:
        score = float(part)
    except ValueError:
        score = float("nan")
    if not abs(score) <= 1e6:
        raise UsageError(
            f"--rewards holds numbers, and x for what could not be judged. Got {part!r}. "
            "Write for example --rewards 1,0,0.5."
        )
    return score


def _lengths(text: str | None) -> list[tuple[int, bool]]:
    """`2,8+` -> [(2, False), (8, True)]: tokens, and whether the budget cut the answer."""
    return [] if text is None else [_length(part.strip()) for part in text.split(",")]


def _length(part: str) -> tuple[int, bool]:
    digits = part.removesuffix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 8):
        raise UsageError(
            f"--lengths holds whole numbers of tokens, with a + where the budget cut. Got {part!r}."
            " Write for example --lengths 2,5,8+."
        )
    return int(digits), part.endswith("+")


def _asked(
    config: Config, scores: list[float | None], lengths: list[tuple[int, bool]]
) -> list[Asked]:
    """The example that was asked for; what was not given of it is as in the default one."""
    from evenodds.lab.explain import Asked, default_example

    if not scores and not lengths:
        return []
    count = len(scores) or len(lengths)
    if lengths and len(lengths) != count:
        raise UsageError(
            f"--rewards and --lengths are of the same answers. Got {len(scores)} and "
            f"{len(lengths)}. Give as many of each."
        )
    usual = default_example(count, config.sampling.max_tokens)
    scores = scores or [row.score for row in usual]
    lengths = lengths or [(row.length, False) for row in usual]
    return [Asked(score, *length) for score, length in zip(scores, lengths, strict=True)]
