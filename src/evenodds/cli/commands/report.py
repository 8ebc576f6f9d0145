"""evenodds report RUN"""

from __future__ import annotations

from pathlib import Path

from evenodds.cli.flags import Parser
from evenodds.errors import UsageError


def main(arguments: list[str]) -> int:
    parser = Parser("report", "RUN", "Write a run's report.html and summary.json again.")
    parser.add_argument("run", help="run folder")
    found = parser.parse(arguments)
    if not (Path(found.run) / "config.toml").exists():
        raise UsageError(f"{found.run!r} is no run folder. See `evenodds list runs`.")
    from evenodds.report import write_report

    print(write_report(Path(found.run)))
    return 0
