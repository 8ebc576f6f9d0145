"""Pictures for the README out of a run's report: python scripts/pictures.py RUN OUT.png TITLE ...

Takes the figures with these titles, puts them side by side, and photographs them with Chromium.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTH = 1100
LOW, TALL = 400, 590  # pixels of a row of figures


def page(report: str, titles: list[str]) -> str:
    """The report's style with the chosen figures, in two columns."""
    style = "".join(re.findall(r"<style>.*?</style>", report, re.S))
    figures = re.findall(r"<figure.*?</figure>", report, re.S)
    chosen = [next(f for f in figures if f"<h3>{title}</h3>" in f) for title in titles]
    return f"<!doctype html>{style}<body><div class='figures'>{''.join(chosen)}</div></body>"


def main() -> None:
    run, out, *titles = sys.argv[1:]
    report = (Path(run) / "report.html").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page(report, titles), encoding="utf-8")
        height = 40 + sum(TALL if "by level" in title else LOW for title in titles[::2])
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{height}"]
        command += ["--disable-background-networking", "--no-first-run", "--disable-sync"]
        command += [f"--screenshot={Path(out).absolute()}", file.as_uri()]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
