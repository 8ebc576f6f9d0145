"""The model card of a run: what was trained, what it can do, what it costs, and what is not known.

It is made from the run's records alone, so it says what the report says. It names no place of the
machine that it was made on, and no command line, which may hold a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenodds.records.lines import read_object
from evenodds.report.beside import control_sentence
from evenodds.report.checks import bench_of, question_rows
from evenodds.report.escape import md_block, md_code, md_text
from evenodds.report.facts import facts, repeat_command
from evenodds.report.findings import Findings, findings_of, worse_sentence
from evenodds.report.markdown import results, worse_items
from evenodds.report.series import is_number
from evenodds.report.signs import alarm_sentence

CARD = "README.md"
HUB = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
TAGS = ("evenodds", "reinforcement-learning", "rlvr", "text-generation")
TRAINED = ("Policy", "Task", "Objective", "Each step", "Problems", "Steps", "Updates", "Seed")
MEASURED = ("Held out", "Apart from training", "Measured by", "What counts")


@dataclass(frozen=True)
class Saved:
    """How the weights beside the card are laid out. base: a name of the hub; empty for others."""

    library: str
    base: str = ""


def write_card(run: Path, model: Path) -> None:
    """Put the card into a folder with a saved policy, instead of the short one that it came with.

    run: the run folder, with everything that the report needs. Raises `UsageError` where it is
    no run.
    """
    found = findings_of(run)
    (model / CARD).write_text(card(found, saved_of(model, found)), encoding="utf-8")


def saved_of(model: Path, found: Findings) -> Saved:
    """What the files say: an adapter, a whole model, or something that only evenodds loads."""
    adapter = read_object(model / "adapter_config.json")
    named = str(found.run.setting("policy", "name") or "")
    if adapter:
        base = str(adapter.get("base_model_name_or_path") or named)
        return Saved("peft", base if HUB.fullmatch(base) else "")
    library = "transformers" if "architectures" in read_object(model / "config.json") else ""
    return Saved(library, named if HUB.fullmatch(named) and not Path(named).exists() else "")


def card(found: Findings, saved: Saved) -> str:
    """The card as Markdown with a head of YAML; whatever comes from the run is escaped."""
    run, conclusion = found.run, found.conclusion
    body = [
        f"# {md_text(run.name, 100)}",
        "",
        f"**{md_text(conclusion.sentence)}**",
        *_section("What it is", _what(found, saved)),
        *_section("Results", [*results(found), "", *_measured(found)]),
        *_section("What got worse", _worse(found)),
        *_section("Data and licence", _data(found)),
        *_section("Limits", [f"- {md_text(limit)}" for limit in _limits(found) if limit]),
        *_section("Load it", _load(saved)),
        *_section("Repeat it", _repeat(found)),
    ]
    return "\n".join([*head(saved), *body]) + "\n"


def head(saved: Saved) -> list[str]:
    """The front matter. A JSON text is a YAML text too, so nothing in it can break out."""
    lines = [f"library_name: {saved.library}"] if saved.library else []
    if saved.base:
        lines += [f"base_model: {json.dumps(saved.base)}"]
        relation = "adapter" if saved.library == "peft" else "finetune"
        lines += [f"base_model_relation: {relation}"]
    lines += ["pipeline_tag: text-generation", "tags:", *(f"- {tag}" for tag in TAGS)]
    return ["---", *lines, "---", ""]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"## {title}", "", *lines] if any(lines) else []


def _items(rows: Sequence[tuple[str, str]], names: Sequence[str]) -> list[str]:
    return [f"- {name.lower()}: {md_text(value, 500)}" for name, value in rows if name in names]


def _what(found: Findings, saved: Saved) -> list[str]:
    run = found.run
    kind = {
        "peft": "A LoRA adapter: it needs its base model, which is not in this folder.",
        "transformers": "A causal language model, all weights.",
    }.get(saved.library, "A policy that evenodds loads.")
    trained = (
        "It was trained by reinforcement learning from verifiable rewards: a program judged its "
        "answers, and better ones became likelier."
    )
    if found.conclusion.random_reward:
        trained = "It is a control arm: a coin paid for its answers, so it was taught nothing."
    return [f"{kind} {trained}", "", *_items(facts(run), TRAINED), *_size(found)]


def _size(found: Findings) -> Iterator[str]:
    known = found.run.passports["environment"]
    size, trainable = known.get("parameters"), known.get("trainable")
    if is_number(size) and is_number(trainable):
        yield f"- parameters: {int(size):,}, of which {int(trainable):,} were trained"


def _measured(found: Findings) -> list[str]:
    if found.run.comparison is None:
        return ["Nothing was compared, so nothing is claimed."]
    rows = _items(question_rows(found.run), MEASURED)
    lead = "Brackets hold 95 % intervals over held-out problems, paired by problem."
    return [lead, "", *rows, f"- the verifier: {md_text(bench_of(found.run).verdict)}"]


def _worse(found: Findings) -> list[str]:
    if not found.measures:
        return []
    return [md_text(worse_sentence(found)), "", *worse_items(found.worse)]


def _data(found: Findings) -> list[str]:
    rows = _items(question_rows(found.run), ("Problems", "Licence", "Levels"))
    base = (
        "The licence of the base model holds for these weights too; the one named here is that of "
        "the problems."
    )
    return [*rows, "", base]


def _limits(found: Findings) -> Iterator[str]:
    """What these numbers do not say."""
    evidence = found.conclusion.evidence
    yield "One run with one seed: the intervals say nothing of how another run would end."
    yield (
        "The held-out problems are of the same kind as those that were trained on; other kinds "
        "were not measured, but for what stands above."
    )
    if evidence.right is not None:
        yield control_sentence(found)
    if evidence.audit is None:
        yield (
            "No second verifier looked at the answers: an answer counts as right if the verifier "
            "that paid in training says so."
        )
    if evidence.k is None:
        yield "One answer a problem was sampled, so pass@k is unknown."
    yield alarm_sentence(found.run)


def _load(saved: Saved) -> list[str]:
    chat = "Or `evenodds chat THIS_FOLDER`."
    if saved.library == "peft":
        code = [
            "from peft import AutoPeftModelForCausalLM",
            "",
            'model = AutoPeftModelForCausalLM.from_pretrained("THIS_FOLDER")',
        ]
        chat += " `evenodds export THIS_FOLDER NEW` merges it into its base."
    elif saved.library == "transformers":
        code = [
            "from transformers import AutoModelForCausalLM, AutoTokenizer",
            "",
            'model = AutoModelForCausalLM.from_pretrained("THIS_FOLDER")',
            'tokenizer = AutoTokenizer.from_pretrained("THIS_FOLDER")',
        ]
    else:
        return [chat.removeprefix("Or ")]
    return [*md_block(code, "python"), "", chat]


def _repeat(found: Findings) -> list[str]:
    run = found.run
    checker, environment = run.passports["checker"], run.passports["environment"]
    rows = [
        ("made with", str(checker.get("package") or "")),
        ("commit", str(environment.get("evenodds_commit") or "")[:40]),
        ("verifier's fingerprint", str(checker.get("configuration_sha256") or "")[:64]),
    ]
    known = [f"- {name}: {md_code(value)}" for name, value in rows if value]
    lead = "The run folder that this model comes from holds `config.toml` and every record:"
    return [lead, "", *md_block([repeat_command(run)], "sh"), *([""] if known else []), *known]
