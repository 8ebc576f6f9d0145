"""evenodds chat POLICY|RUN"""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenodds.cli.flags import Parser
from evenodds.domain import Limits, Message, Prompt, Stop
from evenodds.errors import UsageError

if TYPE_CHECKING:
    from evenodds.run.opened import Opened

EXAMPLE = (
    "example: echo '12*34=' | evenodds chat abacus\n"
    "(abacus has learnt a little only: before it is trained its answers are often wrong)"
)


def main(arguments: list[str]) -> int:
    usage = "POLICY|RUN [--raw] [--temperature T] [--max-tokens N]"
    about = "Talk to a policy: a line in, an answer out. An empty line or Ctrl-D ends it."
    parser = Parser("chat", usage, about, EXAMPLE)
    parser.add_argument("policy", help="'abacus', a model folder, a hub name, or a run folder")
    parser.add_argument("--raw", action="store_true", help="no chat template: text is continued")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (default)")
    parser.add_argument("--max-tokens", type=int, default=256, help="of one answer (default: 256)")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default: 0)")
    found = parser.parse(arguments)
    if not (0 <= found.temperature < math.inf) or found.max_tokens < 1:
        got = f"got {found.temperature} and {found.max_tokens}"
        parser.error(f"--temperature must be 0 or more, --max-tokens 1 or more; {got}")
    from evenodds.report.text import safe
    from evenodds.run.opened import open_policy

    opened = open_policy(found.policy, {})
    codec = opened.policy.codec
    talks = bool(getattr(codec.tokenizer, "chat_template", None)) and not found.raw
    talk = Talk(opened, talks, Limits(found.max_tokens, found.temperature))
    for number, line in enumerate(_lines()):
        try:
            print(safe(talk.answer(line, found.seed + number)), flush=True)
        except UsageError as error:  # this line was no good; the next one may be
            _say(str(error))
    return 0


@dataclass
class Talk:
    """What was said so far; one line after another without it where the policy has no template."""

    opened: Opened
    talks: bool
    limits: Limits
    turns: list[Message] = field(default_factory=list)

    def answer(self, line: str, seed: int) -> str:
        """The policy's answer. `UsageError` for a line that it cannot take; it is not kept."""
        self.opened.policy.codec.require_readable(line)
        turns = [*self.turns, Message(role="user", content=line)]
        prompt: Prompt = tuple(turns) if self.talks else line
        limits = self._limits(prompt)
        found = self.opened.sampler.sample([prompt], 1, limits, seed)[0][0]
        if found.stop is Stop.BUDGET and limits.max_tokens < self.limits.max_tokens:
            _say(f"the answer ends after {limits.max_tokens} tokens: the policy sees no further.")
        self.turns = [*turns, Message(role="assistant", content=found.text)]
        return found.text

    def _limits(self, prompt: Prompt) -> Limits:
        """As many tokens as were asked for, or as the model has positions left."""
        most = self.opened.policy.context
        if most is None:
            return self.limits
        length = len(self.opened.policy.codec.encode(prompt))
        if length >= most:
            self.turns = []
            raise UsageError(
                f"the text has {length} tokens, the policy sees {most}. What was said is "
                "forgotten: give a shorter line."
            )
        return Limits(min(self.limits.max_tokens, most - length), self.limits.temperature)


def _say(message: str) -> None:
    print(f"evenodds: {message}", file=sys.stderr, flush=True)


def _lines() -> Iterator[str]:
    """Lines of standard input until an empty one; a prompt is shown to a person only."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    while True:
        if sys.stdin.isatty():
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line.strip():
            return
        yield line.rstrip("\n")
