"""evenodds init FOLDER"""

from __future__ import annotations

from pathlib import Path

from evenodds.cli.flags import Parser
from evenodds.errors import UsageError
from evenodds.run.config import make_config, to_toml

VERIFIER = '''"""The judge of your task: a program that can tell a right answer."""


def grade(problem, text):
    """problem.prompt and problem.answer come from problems.jsonl; text is what the model wrote.

    Return True or False, or a score from 0 to 1; None if the answer cannot be judged.
    """
    return text.strip().endswith(problem.answer)
'''

HEADER = """# A run of evenodds: evenodds train {name}
# Flags beat this file: evenodds train {name} --seed 1
# Lines that start with # hold what is used when nothing is said.

"""


def main(arguments: list[str]) -> int:
    about = "A commented config, a verifier and some problems: a task of your own to start from."
    parser = Parser("init", "FOLDER", about)
    parser.add_argument("folder", nargs="?", default="mytask", help="(default: mytask)")
    folder = Path(parser.parse(arguments).folder)
    if folder.exists():
        raise UsageError(f"{str(folder)!r} exists already. Name a new folder.")
    config = make_config(
        {
            "run": {"max_time": 60.0},
            "task": {"name": "data", "data": "problems.jsonl", "verifier": "verifier.py:grade"},
            "sampling": {"max_tokens": 40},
            "curriculum": {"kind": "uniform"},
        }
    )
    problems = [
        f'{{"prompt": "{a}*{b}=", "answer": "{a * b}"}}'
        for a in range(2, 10)
        for b in (3, 7, 11, 24)
    ]
    folder.mkdir(parents=True)
    name = folder / "evenodds.toml"
    name.write_text(HEADER.format(name=name) + to_toml(config, comments=True), encoding="utf-8")
    (folder / "verifier.py").write_text(VERIFIER, encoding="utf-8")
    (folder / "problems.jsonl").write_text("\n".join(problems) + "\n", encoding="utf-8")
    print(f"{folder}: evenodds.toml, verifier.py, problems.jsonl. Next: evenodds train {name}")
    return 0
