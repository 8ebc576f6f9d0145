"""evenodds report RUN"""

from __future__ import annotations

import sys

from evenodds.cli.flags import Parser
from evenodds.run.folder import require_run


def main(arguments: list[str]) -> int:
    parser = Parser(
        "report", "RUN [--md]", "Write a run's report.html, report.md and summary.json."
    )
    parser.add_argument("run", help="run folder, or its name below runs/")
    parser.add_argument(
        "--md", action="store_true", help="print the Markdown for a pull request; write nothing"
    )
    found = parser.parse(arguments)
    run = require_run(found.run)
    if found.md:
        from evenodds.report.findings import findings_of
        from evenodds.report.markdown import markdown

        sys.stdout.write(markdown(findings_of(run)))
        return 0
    from evenodds.report import write_report
    from evenodds.report.progress import Shown

    with Shown(sys.stderr) as shown:
        page = write_report(run, shown("report"))
    for path in (page, page.with_name("report.md"), page.with_name("summary.json")):
        print(path)
    return 0
