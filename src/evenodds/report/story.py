"""The sentences of a comparison: what got better and, beside it, what got worse."""

from __future__ import annotations

from evenodds.report.comparison import FEWEST, NO_EVIDENCE, WORSE, Comparison, Curves, verdict_of
from evenodds.report.text import listed, one_line

LABEL = 60  # characters of a level's name in a sentence


def headline(comparison: Comparison) -> str:
    """The one sentence that a reader should take away, with intervals."""
    row = comparison.overall
    if not row.problems:
        return "The two evaluations share no problem, so nothing can be said."
    where = " over the whole ladder" if len(comparison.levels) > 1 else ""
    return (
        f"Held-out sampled accuracy{where} changed by {row.gain.points()}, paired by problem: "
        f"{row.verdict}. It went from {row.before.sampled} to {row.after.sampled}."
    )


def by_level(comparison: Comparison) -> str:
    """Which levels got better, worse, or show no evidence of either; empty for a single level."""
    if len(comparison.levels) == 1:
        return ""
    return f"{_told(comparison)} {by_itself(comparison)}".strip()


def by_itself(comparison: Comparison) -> str:
    """Levels whose interval leaves out zero although their verdict is that there is no evidence.

    A reader who sees the interval alone would take them for a change.
    """
    apart = [
        row.label
        for row in comparison.levels
        if row.verdict == NO_EVIDENCE and verdict_of(row.gain) != NO_EVIDENCE
    ]
    if not apart:
        return ""
    named = _levels(apart, 0)
    looks = sum(row.problems >= FEWEST for row in comparison.levels)
    return (
        f"The interval at {named} leaves out zero by itself; among {looks} levels that is "
        "no evidence (Holm's correction)."
    )


def _told(comparison: Comparison) -> str:
    parts = [
        f"{name} at {_levels(labels, len(comparison.levels))}"
        for name, labels in (("better", comparison.better), ("worse", comparison.worse))
        if labels
    ]
    if not parts and not comparison.too_few:
        return "No level shows evidence of a change."
    if parts and not comparison.worse:
        parts.append("worse at no level")
    if comparison.no_evidence:
        parts.append(f"no evidence either way at {_levels(comparison.no_evidence, 0)}")
    if comparison.too_few:
        parts.append(
            f"too few problems to tell at {_levels(comparison.too_few, len(comparison.levels))}"
        )
    sentence = "; ".join(parts)
    return sentence[0].upper() + sentence[1:] + "."


def warnings(comparison: Comparison) -> list[str]:
    """What keeps a verdict from being given."""
    few = comparison.too_few
    if not few:
        return []
    where = "" if len(comparison.levels) == 1 else f" at {_levels(few, len(comparison.levels))}"
    return [
        f"Fewer than {FEWEST} held-out problems were compared{where}: too few for a verdict. "
        "Raise --evaluation.problems."
    ]


def left_out(comparison: Comparison) -> str:
    """How many problems no rate is of; empty where all were judged on both sides."""
    count = comparison.unmatched
    if not count:
        return ""
    which = "1 problem is" if count == 1 else f"{count:,} problems are"
    return f"{which} in none of these rates: not judged both before and after."


def _levels(labels: list[str], of: int) -> str:
    if len(labels) == of > 1:
        return f"all {of} levels"
    return listed([one_line(label, LABEL) for label in labels])


def problems_sentence(comparison: Comparison) -> str:
    """Problems gained and lost, so that a mean cannot hide what was forgotten."""
    found, left = comparison.coverage, comparison.overall.problems - comparison.coverage.problems
    alike = " with as many judged answers before as after" if left else ""
    return (
        f"Of {found.problems} held-out problems{alike}, {found.gained} have a right answer "
        f"among the sampled ones only after training and {found.lost} only before it; "
        f"{found.kept} both times, {found.never} neither time."
    )


def sharpening(curves: Curves) -> str | None:
    """A warning where more tries help the base more: probability moved, nothing was learned."""
    if not curves.ks or verdict_of(curves.gain[-1]) != WORSE:
        return None
    return (
        f"With {curves.ks[-1]} tries a problem the base still solves more "
        f"(pass@{curves.ks[-1]} changed by {curves.gain[-1].points()}): training sharpened the "
        "answers that it had rather than adding new ones."
    )


def changes(comparison: Comparison) -> list[str]:
    """Greedy accuracy, length and truncation: what a sampled accuracy does not show."""
    row = comparison.overall
    if not row.problems:
        return []
    found: list[str] = []
    if row.before.greedy and row.after.greedy and row.greedy_gain:
        found.append(
            f"Greedy (the likeliest answer only) it went from {row.before.greedy} to "
            f"{row.after.greedy}, a change of {row.greedy_gain.points()}."
        )
    if row.before.length is not None and row.after.length is not None:
        cut = _cut(row.before.truncated, row.after.truncated)
        found.append(
            f"Answers went from {row.before.length:.1f} to {row.after.length:.1f} tokens on "
            f"average{cut}."
        )
    return found


def _cut(before: float | None, after: float | None) -> str:
    if before is None or after is None or max(before, after) < 0.0005:
        return ""  # nothing was cut, to the tenth of a percent that is shown
    return f", and those cut by the token budget from {100 * before:.1f} % to {100 * after:.1f} %"
