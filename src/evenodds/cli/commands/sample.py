"""evenodds sample POLICY|RUN"""

from __future__ import annotations

import json

from evenodds.cli.flags import Parser, add_settings, given
from evenodds.errors import UsageError

MOST = 100_000  # problems, and answers to each


def main(arguments: list[str]) -> int:
    usage = "POLICY|RUN [--level N] [--count N] [--SETTING VALUE ...]"
    about = "Generate and judge training problems, without learning: look before you train."
    parser = Parser("sample", usage, about, "One JSON line an answer goes to stdout.")
    parser.add_argument("policy", help="'abacus', a model folder, a hub name, or a run")
    parser.add_argument("--level", type=int, help="level of the problems, from 0 (default: all)")
    parser.add_argument("--count", type=int, default=4, help="problems (default: 4)")
    parser.add_argument("--answers", type=int, default=4, help="answers to each (default: 4)")
    add_settings(parser, ("policy",), ("policy", "task", "sampling", "judge"))
    found = parser.parse(arguments)
    for flag, value in (("count", found.count), ("answers", found.answers)):
        if not 1 <= value <= MOST:
            raise UsageError(f"--{flag} cannot be {value}. It should be 1 or more, up to {MOST}.")
    from evenodds.run.opened import config_for, open_policy

    over = given(found)
    config_for(found.policy, over)
    opened = open_policy(found.policy, over)
    import numpy as np

    from evenodds.evaluation import answer_all
    from evenodds.judge import open_judge
    from evenodds.run.build import judge_options, limits_of
    from evenodds.run.context import require_context

    top = len(opened.task.levels)
    if found.level is not None and not 0 <= found.level < top:
        raise UsageError(f"--level cannot be {found.level}: there are levels 0 to {top - 1}.")
    rng = np.random.default_rng(opened.config.run.seed)
    levels = [found.level if found.level is not None else i % top for i in range(found.count)]
    problems = [opened.task.generate(level, rng) for level in levels]
    limits = limits_of(opened.config, opened.task)
    prompts = (problem.prompt for problem in problems)
    require_context(opened.policy, prompts, limits.max_tokens, "sampling.max_tokens")
    seed = opened.config.run.seed
    with open_judge(opened.task.verifier, judge_options(opened.config)) as judge:
        groups = answer_all(problems, opened.sampler, judge, found.answers, limits, seed)
    for group in groups:
        for rollout, verdict in zip(group.rollouts, group.verdicts, strict=True):
            line = {
                "problem": group.problem.key,
                "level": group.problem.level,
                "gold": group.problem.answer,
                "prompt": opened.policy.codec.render(group.problem.prompt),
                "completion": rollout.text,
                "status": str(verdict.status),
                "score": verdict.score,
                "extracted": verdict.extracted,
                "note": verdict.note,
                "stop": str(rollout.stop),
                "tokens": int(rollout.ids.size),
            }
            print(json.dumps(line, ensure_ascii=True))
    return 0
