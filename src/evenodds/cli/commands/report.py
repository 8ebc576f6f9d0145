"""evenodds report RUN"""

from __future__ import annotations

from evenodds.cli.flags import Parser
from evenodds.errors import UsageError
from evenodds.run.folder import find_run


def main(arguments: list[str]) -> int:
    parser = Parser("report", "RUN", "Write a run's report.html and summary.json again.")
    parser.add_argument("run", help="run folder, or its name below runs/")
    found = parser.parse(arguments)
    run = find_run(found.run)
    if not found.run or not (run / "config.toml").exists():
        raise UsageError(f"{found.run!r} is no run folder. See `evenodds list runs`.")
    from evenodds.report import write_report

    print(write_report(run))
    return 0
