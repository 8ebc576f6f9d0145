"""Make the bundled model, measure it, and write its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import torch

from evenodds import durable
from evenodds.domain import Limits
from evenodds.evaluation import EvaluationSettings, evaluate
from evenodds.judge import InlineJudge
from evenodds.lab.abacus import Recipe, card, pretrain
from evenodds.policies import Policy
from evenodds.policies.codec import Codec, stop_ids_of
from evenodds.policies.load import silence_transformers
from evenodds.report.terminal import make_view
from evenodds.run.engine import prepare_process
from evenodds.sampling.native import NativeSampler
from evenodds.tasks import make_task


def make(target: Path, recipe: Recipe, stream: TextIO) -> Path:
    """Pre-train by the recipe into a new Hugging Face folder with a card."""
    prepare_process()
    view = make_view(stream)
    view.start("pre-training abacus", [f"{recipe.steps} steps of {recipe.documents} documents"])

    def tell(step: int, loss: float, elapsed: float) -> None:
        view.phase("pre-training", step, recipe.steps)

    silence_transformers()
    model, tokenizer, made = pretrain(recipe, tell)
    model.eval()
    codec = Codec(tokenizer, stop_ids_of(tokenizer, model.config))
    policy = Policy(model, codec, "abacus", torch.device("cpu"))
    task = make_task("multiplication")
    settings = EvaluationSettings(limits=Limits(96, stop_strings=task.stop_strings), problems=100)
    sampler = NativeSampler(policy, progress=lambda a, b: view.phase("measuring", a, b))
    measured = evaluate("abacus", sampler, InlineJudge(task.verifier), task, settings).to_dict()

    def fill(folder: Path) -> None:
        policy.save(folder)
        (folder / "README.md").write_text(card(made, measured), encoding="utf-8")

    durable.make_folder(target.absolute().parent)
    durable.commit_folder(target, fill)
    view.close()
    return target
