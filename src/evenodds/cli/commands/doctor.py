"""evenodds doctor [CONFIG.toml]"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from evenodds.cli.flags import Parser, add_settings, config_of, given

if TYPE_CHECKING:
    from evenodds.run.config import Config
    from evenodds.run.preflight.doctor import Diagnosis

USAGE = "[CONFIG.toml] [--SETTING VALUE ...] [--json]"
ABOUT = """\
Look for mistakes before hours are spent on them. It takes what `evenodds train` takes, loads the
model, asks it some training problems, and looks at everything that makes runs fail silently: what
ends an answer, the chat template, whether learner and sampler agree on every log-probability,
sampling that is not what it says, budgets, memory, disk, time, and whether rewards differ at all.

Each finding says what was found, why it matters, and what to change. A fatal one would make the
run wrong or worth nothing; `train` makes the quick part of these checks at every start, and
refuses what is fatal. Nothing is written, and the model stays as it is.
"""
EPILOG = """examples:
  evenodds doctor                                     the bundled demonstration
  evenodds doctor my.toml                             a config, as train takes it
  evenodds doctor --policy ./model --data my.jsonl --verifier number
  evenodds doctor my.toml --check.ignore end_token    told, but no reason to refuse
  evenodds doctor my.toml --json                      for programs

exit codes: 0 nothing fatal (there may be warnings), 2 wrong usage, 3 something fatal

docs/doctor.md lists every check, and the mistake that it finds.
"""

SOUND = "nothing stands in the way of a run"


def main(arguments: list[str]) -> int:
    parser = Parser("doctor", USAGE, ABOUT, EPILOG)
    parser.add_argument("config", nargs="?", help="TOML file, as for train")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    add_settings(parser)
    found = parser.parse(arguments)
    config = config_of(found.config, given(found))
    diagnosis = _diagnosis(config)
    print(_json(diagnosis) if found.json else _text(config, diagnosis))
    return 3 if diagnosis.fatal else 0


def _diagnosis(config: Config) -> Diagnosis:
    from evenodds.report.progress import Shown
    from evenodds.run.preflight.doctor import diagnose

    with Shown(sys.stderr) as shown:
        return diagnose(config, shown)


def _text(config: Config, diagnosis: Diagnosis) -> str:
    from evenodds.report.text import one_line
    from evenodds.run.preflight.show import lines

    title = one_line(f"doctor: {config.policy.name} and {config.task.name}", 76)
    took = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in diagnosis.seconds.items())
    fatal = diagnosis.fatal
    end = f"fatal: {', '.join(f.name for f in fatal)}" if fatal else SOUND
    return "\n".join(
        [title, *lines(diagnosis.findings, diagnosis.ignored), took, one_line(end, 76)]
    )


def _json(diagnosis: Diagnosis) -> str:
    ignored = set(diagnosis.ignored)
    findings = [
        {**f.to_dict(), "ignored": f.level == "fatal" and f.name in ignored}
        for f in diagnosis.findings
    ]
    record = {"fatal": len(diagnosis.fatal), "findings": findings, "seconds": diagnosis.seconds}
    return json.dumps(record, ensure_ascii=True, indent=1)
