"""What a replay found, in lines for a person and in values for a program. Texts of a run are safe
to look at here: everything in them that could steer a terminal is made visible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from evenodds.replay.again import Judgement, Replayed
from evenodds.replay.match import Match, TokenOf
from evenodds.replay.share import Share
from evenodds.replay.stages import Stage, Watched
from evenodds.report.text import counted, one_line, short

WIDTH = 100
SHALLOW = 2  # depth of the stages that are shown, unless all are asked for
NOTHING = frozenset({"None", "[]", "()", "False", "''", ""})
NAMES = {"hardware": "instructions", "cpu": "processor"}


def lines_of(found: Replayed, deep: bool = False) -> list[str]:
    """One rollout in full. deep: every stage of the verifier, not only the outer ones."""
    recorded = found.recorded
    return [
        f"{found.name}  {one_line(found.problem.key, 60)}",
        *_block("prompt", one_line(found.prompt, 300)),
        *_block("gold", one_line(found.problem.answer, 300)),
        *_block("answer", one_line(recorded.rollout.text, 300)),
        *_block("weights", weights(found)),
        *_block("tokens", tokens(found)),
        *_block("verdict", verdict(found.judgement)),
        *("           " + line for line in stages(found.judgement.now, deep)),
        *_block("loss", *loss(found.share)),
        *_block("record", *(f"wrong in {one_line(told, 200)}." for told in found.altered)),
    ]


def _block(name: str, *parts: str) -> Iterator[str]:
    """A name and its text, in lines of at most 100 columns."""
    head = f"  {name:<9}"
    for part in parts:
        while part:
            cut = part if len(part) <= WIDTH - 11 else part[: WIDTH - 11].rpartition(" ")[0]
            cut = cut or part[: WIDTH - 11]
            yield head + cut
            part, head = part[len(cut) :].lstrip(), " " * 11


def conditions(different: Mapping[str, tuple[Any, Any]]) -> str:
    """What is not as it was then, in a line; empty where all is."""
    if not different:
        return ""
    told = [
        f"{NAMES.get(name, name)} {one_line(str(then), 60)}, now {one_line(str(now), 60)}"
        for name, (then, now) in different.items()
    ]
    return f"not as it was then: {'; '.join(told)}. Bits may differ, and texts after them."


def weights(found: Replayed) -> str:
    begun = f"from {found.begun}"
    if not found.again:
        return f"{begun}, with no update in between."
    done = f"{begun}, {counted(found.again, 'update')} computed again from the records"
    off = found.departure
    without = found.again - found.compared
    rest = f" {without:,} of them had no line in metrics.jsonl to be held against." * bool(without)
    if off is not None:
        return (
            f"{done}; that of step {off.step} differs: {one_line(off.name)} was "
            f"{_number(off.recorded)}, now {_number(off.now)}.{rest}"
        )
    if not found.compared:
        return f"{done}, none held against metrics.jsonl, which has no line of them."
    which = "each" if not without else f"{found.compared:,} of them"
    held = "with the loss and all other numbers of its line of metrics.jsonl"
    return f"{done}, {which} {held}.{rest}"


def _number(value: float | None) -> str:
    return "not there" if value is None else f"{value:.9g}"


def tokens(found: Replayed) -> str:
    if found.equal == found.answers:
        return f"{matched(found.match)} So are all {counted(found.answers, 'answer')} of its step."
    others = f"{found.equal:,} of the {counted(found.answers, 'answer')} of its step are bit-equal."
    return f"{matched(found.match)} {others}"


def matched(match: Match) -> str:
    """`bit-equal: ...`, or where the two first differ."""
    size = counted(match.tokens, "token")
    if match.kind == "bit-equal":
        return f"bit-equal: {size}, ids and float32 log-probabilities."
    if match.kind == "other prompt":
        return "its prompt has other tokens now, so the answer says nothing."
    where = f"token {match.at}: recorded {_token(match.recorded)}, now {_token(match.now)}"
    if match.kind == "rounding":
        return (
            f"equal up to rounding: all {size} are the same, {match.differing:,} log-probabilities "
            f"differ, by {match.largest:.2g} nats at most; the first at {where}."
        )
    return f"first differs at {where}."


def _token(token: TokenOf | None) -> str:
    if token is None or token.id is None or token.logprob is None:
        return "no token"
    return f"'{one_line(token.text, 30)}' ({token.logprob:.9g})"


def verdict(found: Judgement) -> str:
    now, then = found.now.verdict, found.recorded
    told = f"{now.status}, {short(now.score)}: {one_line(now.note, 160)}"
    if found.chance:
        return f"the reward was drawn by chance ({then.status}); the verifier says {told}."
    if found.same:
        return f"{told}. As recorded."
    was = f"{then.status}, {short(then.score)}: {one_line(then.note, 160)}"
    return f"differs from the record. Then {was}. Now {told}."


def stages(watched: Watched, deep: bool = False) -> list[str]:
    """The verifier's stages, indented; neighbours that found nothing share a line.

    A call that stands alone is the verdict itself, and is shown whatever it found.
    """
    kept = [one for one in watched.stages if deep or one.depth <= SHALLOW]
    deeper = [two.depth > one.depth for one, two in zip(kept, [*kept[1:], *kept[:1]], strict=True)]
    is_idle = [
        len(kept) > 1 and not (deep or inner) and one.found in NOTHING
        for one, inner in zip(kept, deeper, strict=True)
    ]
    lines: list[str] = []
    for (depth, _), places in groupby(
        range(len(kept)), key=lambda at: (kept[at].depth, -1 if is_idle[at] else at)
    ):
        here = list(places)
        told = call(kept[here[0]])
        if is_idle[here[0]]:
            told = f"nothing by {', '.join(kept[at].name for at in here)}"
        lines.append(_fitting("  " * depth + told))
    hidden = len(watched.stages) - len(kept) + watched.left_out
    return [*lines, f"({counted(hidden, 'inner call')} not shown)"] if hidden else lines


def call(stage: Stage) -> str:
    given = ", ".join(
        value if len(stage.given) == 1 else f"{name}={value}" for name, value in stage.given.items()
    )
    return one_line(f"{stage.name}({given}) → {stage.found}")


def _fitting(line: str) -> str:
    return one_line(line, WIDTH - 11)


def loss(share: Share) -> list[str]:
    """The part of the loss, from rewards to tokens."""
    rewards = " ".join(short(reward) for reward in share.rewards[:16])
    more = " …" if len(share.rewards) > 16 else ""
    head = f"rewards of its group: {rewards}{more}."
    if share.part is None:
        why = share.why or share.without
        return [head, f"Not in the loss: {one_line(why)}." if share.why else _without(share)]
    part = share.part
    same = (
        "as recorded"
        if share.recorded_advantage == part.advantage
        else (f"recorded {share.recorded_advantage:+.6g}")
    )
    weight = f"{part.weights[0]:.4g}" if part.weights.size else "-"
    lines = [
        f"{head} Advantage {part.advantage:+.6g} ({same}).",
        f"{counted(part.weights.size, 'token')} of weight {weight} each ({share.answers:,} answers "
        f"and {share.tokens:,} tokens in the step), {part.clipped} clipped: loss {part.loss:+.6g}, "
        f"{100 * share.pull:.2g} % of the step's gradient on its tokens.",
        _total(share),
    ]
    return [*lines, _without(share)] if share.without else lines


def _total(share: Share) -> str:
    if share.loss is None or share.recorded_loss is None:
        return ""
    gap = abs(share.loss - share.recorded_loss)
    return (
        f"All answers of the step together: {share.loss:+.9g}; metrics.jsonl has "
        f"{share.recorded_loss:+.9g} ({gap:.1g} apart)."
    )


def _without(share: Share) -> str:
    return f"The record does not hold {share.without}."


def short_line(found: Replayed) -> str:
    """One rollout among many."""
    judged = found.judgement
    said = (
        judged.now.verdict.status if judged.same else f"verdict differs ({judged.recorded.status})"
    )
    kind = found.match.kind
    what = counted(found.match.tokens, "token") if kind == "bit-equal" else matched(found.match)
    wrong = "; ".join(["", *found.altered])
    return one_line(f"{found.name!s:<12} {kind:<10} {said:<12} {what}{wrong}", WIDTH)


def summary(found: Sequence[Replayed]) -> list[str]:
    """Many rollouts together: how many are bit-equal, judged as they were, and add up."""
    total = len(found)
    equal = sum(one.match.kind == "bit-equal" for one in found)
    rounded = sum(one.match.kind == "rounding" for one in found)
    judged = sum(one.judgement.same for one in found)
    gaps = [gap_of(one.share) for one in found]
    known = [gap for gap in gaps if gap is not None]
    steps = len({one.name.step for one in found})
    lines = [f"{equal} of {counted(total, 'rollout')} bit-equal, of {counted(steps, 'step')}."]
    if rounded:
        lines.append(f"{rounded} more are equal up to rounding.")
    chance = any(one.judgement.chance for one in found)
    lines.append(
        "Rewards were drawn by chance, so verdicts are not compared."
        if chance
        else f"{judged} of {total} verdicts as recorded."
    )
    if known:
        lines.append(
            f"Losses of their steps from the records alone: at most {max(known):.1g} from "
            "metrics.jsonl."
        )
    without = max((one.again - one.compared for one in found), default=0)
    if without:
        what = counted(without, "update")
        lines.append(f"{what} on the way had no line in metrics.jsonl to be held against.")
    return lines


def gap_of(share: Share) -> float | None:
    """How far the step's loss from the record is from that of metrics.jsonl."""
    if share.loss is None or share.recorded_loss is None or share.without:
        return None
    gap = abs(share.loss - share.recorded_loss)
    return gap if math.isfinite(gap) else None


def as_dict(found: Replayed) -> dict[str, Any]:
    """One rollout as JSON has it; texts as they are."""
    share, judged, off = found.share, found.judgement, found.departure
    part = share.part
    return {
        "rollout": str(found.name),
        "problem": found.problem.key,
        "prompt": found.prompt,
        "completion": found.recorded.rollout.text,
        "from": found.begun,
        "updates_again": found.again,
        "updates_compared": found.compared,
        "departure": off and vars(off),
        "altered": list(found.altered),
        "different": {name: list(pair) for name, pair in found.different.items()},
        "match": {
            **vars(found.match),
            "recorded": _vars(found.match.recorded),
            "now": _vars(found.match.now),
        },
        "step": {"answers": found.answers, "bit_equal": found.equal},
        "verdict": {
            "same": judged.same,
            "by_chance": judged.chance,
            "recorded": _verdict(judged.recorded),
            "now": _verdict(judged.now.verdict),
            "stages": [vars(stage) for stage in judged.now.stages],
            "left_out": judged.now.left_out,
        },
        "loss": {
            "rewards": list(share.rewards),
            "recorded_advantage": share.recorded_advantage,
            "why_not": share.why,
            "without": share.without,
            "part": part
            and {
                "advantage": part.advantage,
                "loss": part.loss,
                "weights": part.weights.tolist(),
                "values": part.values.tolist(),
                "gradients": part.gradients.tolist(),
                "clipped": part.clipped,
            },
            "share_of_gradient": share.pull,
            "step": share.loss,
            "metrics": share.recorded_loss,
        },
    }


def _vars(token: TokenOf | None) -> dict[str, Any] | None:
    return None if token is None else vars(token)


def _verdict(verdict: Any) -> dict[str, Any]:
    return {
        "status": str(verdict.status),
        "score": verdict.score,
        "extracted": verdict.extracted,
        "note": verdict.note,
    }
