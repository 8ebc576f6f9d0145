"""Our verifiers as reward functions for TRL's GRPOTrainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from evenodds.domain import Completion, Message, Problem
from evenodds.errors import UsageError
from evenodds.judge.inline import OpenJudge
from evenodds.judge.opening import open_judge, verdicts_of
from evenodds.judge.options import JudgeOptions
from evenodds.verifiers import OwnFunction, Verifier, as_verifier
from evenodds.verifiers.trl import GOLDS


@dataclass
class TrlReward:
    """Called as TRL calls a reward function; see `trl_reward`.

    It can be pickled, for TRL may send its reward functions to another process.
    """

    source: str | Verifier | OwnFunction
    policy: Mapping[str, object] | None
    options: JudgeOptions
    _verifier: Verifier = field(init=False, repr=False)
    _judge: OpenJudge = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._verifier = as_verifier(self.source, self.policy)
        self._judge = open_judge(self._verifier, self.options)  # before TRL has threads
        self.__name__ = _name(self.source, self._verifier)

    def __reduce__(self) -> tuple[Any, ...]:
        return TrlReward, (self.source, self.policy, self.options)

    def __call__(
        self,
        prompts: Sequence[str | Sequence[Message]],
        completions: Sequence[str | Sequence[Message]],
        **columns: Any,
    ) -> list[float | None]:
        """A score for each completion; None for one that could not be judged."""
        pairs = [
            (_problem(prompts, columns, at), Completion(_text(completion)))
            for at, completion in enumerate(completions)
        ]
        verdicts = verdicts_of(self._judge, pairs)
        return [verdict.score if verdict.is_judged else None for verdict in verdicts]


def trl_reward(
    verifier: str | Verifier | OwnFunction,
    policy: Mapping[str, object] | None = None,
    options: JudgeOptions | None = None,
) -> TrlReward:
    """A reward function for `reward_funcs` of TRL's GRPOTrainer, judged as evenodds judges.

    verifier: a name such as `number`, or what `evenodds.train` takes. The gold answer is read from
    the column `answer`, else `solution`; the other columns are there for functions that want them.
    A completion that could not be judged has the reward None, which TRL leaves out. A completion
    that TRL cut at its budget is judged like a finished one: TRL does not say which these are, so
    set its `mask_truncated_completions`. Raises `UsageError` where no such column is there.
    """
    return TrlReward(verifier, policy, options or JudgeOptions())


def _name(source: object, verifier: Verifier) -> str:
    """What TRL calls it in its metrics."""
    if isinstance(source, str):
        return source.rpartition(":")[2]
    kind = getattr(verifier, "kind", None)
    return str(kind.name if kind else getattr(verifier, "__name__", "reward"))


def _problem(
    prompts: Sequence[str | Sequence[Message]], columns: Mapping[str, Any], at: int
) -> Problem:
    gold = next((name for name in GOLDS if name in columns), None)
    if gold is None:
        raise UsageError(
            f"the data set has no gold answers. Got the columns {[*columns][:20]}. "
            "Give it a column 'answer' or 'solution'."
        )
    row = {
        name: values[at]
        for name, values in columns.items()
        if isinstance(values, list | tuple) and len(values) == len(prompts)  # not trainer_state
    }
    prompt = prompts[at]
    asked = prompt if isinstance(prompt, str) else tuple(message.copy() for message in prompt)
    return Problem(str(at), asked, str(columns[gold][at]), "trl", columns=row)


def _text(completion: str | Sequence[Message]) -> str:
    """The last message of a chat, or the text itself; parts of a content are joined."""
    if isinstance(completion, str):
        return completion
    content = cast(object, completion[-1]["content"]) if completion else ""
    if isinstance(content, str):
        return content
    parts = cast(list[dict[str, Any]], content or [])
    return "".join(str(part.get("text") or "") for part in parts)
