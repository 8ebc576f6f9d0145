"""evenodds chat POLICY|RUN"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from evenodds.cli.flags import Parser
from evenodds.domain import Message, Prompt


def main(arguments: list[str]) -> int:
    usage = "POLICY|RUN [--raw] [--temperature T] [--max-tokens N]"
    about = "Talk to a policy: a line in, an answer out. An empty line or Ctrl-D ends it."
    parser = Parser("chat", usage, about, "example: echo '12*34=' | evenodds chat abacus")
    parser.add_argument("policy", help="'abacus', a model folder, a hub name, or a run folder")
    parser.add_argument("--raw", action="store_true", help="no chat template: text is continued")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (default)")
    parser.add_argument("--max-tokens", type=int, default=256, help="of one answer (default: 256)")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default: 0)")
    found = parser.parse(arguments)
    if found.temperature < 0 or found.max_tokens < 1:
        parser.error("--temperature must be 0 or more, --max-tokens 1 or more")
    from evenodds.run.opened import open_policy

    opened = open_policy(found.policy, {})
    from evenodds.domain import Limits
    from evenodds.report.text import safe

    codec = opened.policy.codec
    talks = bool(getattr(codec.tokenizer, "chat_template", None)) and not found.raw
    limits = Limits(found.max_tokens, found.temperature)
    turns: list[Message] = []
    for number, line in enumerate(_lines()):
        turns.append(Message(role="user", content=line))
        prompt: Prompt = tuple(turns) if talks else line
        answer = opened.sampler.sample([prompt], 1, limits, found.seed + number)[0][0].text
        turns.append(Message(role="assistant", content=answer))
        print(safe(answer), flush=True)
    return 0


def _lines() -> Iterator[str]:
    """Lines of standard input until an empty one; a prompt is shown to a person only."""
    while True:
        if sys.stdin.isatty():
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line.strip():
            return
        yield line.rstrip("\n")
