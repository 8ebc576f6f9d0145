"""One tree of errors. A message says what happened, what was got, and what to do, in one line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches


class EvenoddsError(Exception):
    """Base of all errors meant for a person. `exit_code` is what the command line ends with."""

    exit_code = 1


class UsageError(EvenoddsError):
    """The request is wrong: a flag, a config, a file that was named. Nothing was written."""

    exit_code = 2


class RunError(EvenoddsError):
    """A run that had started could not go on."""


class NotFinite(RunError):
    """A gradient or a log-probability of an update is not a finite number."""


class GateError(EvenoddsError):
    """A quality gate said no."""

    exit_code = 3


def sentences(*parts: str) -> str:
    """Parts as sentences of one line, each with one full stop, whether or not it came with one."""
    kept = [part.strip() for part in parts if part.strip()]
    return " ".join(part if part[-1] in ".!?…" else f"{part}." for part in kept)


def check_path(path: object, tail: str = "") -> str:
    """What to do about a path that is not there. Whoever goes on with a run from another folder
    than before has to be told where a relative one begins."""
    begins = "" if os.path.isabs(str(path)) else ", which begins at the current folder"
    return f"Check the path{tail}{begins}."


FOREIGN = {  # names of TRL and verl, and ours. docs/trl.md has more, and what differs in meaning
    "adam_beta1": "learner.beta1",
    "adam_beta2": "learner.beta2",
    "adv_estimator": "objective.credit",
    "beta": "objective.kl",
    "clip_ratio": "objective.clip_low",
    "clip_ratio_c": "objective.dual_clip",
    "clip_ratio_high": "objective.clip_high",
    "clip_ratio_low": "objective.clip_low",
    "delta": "objective.dual_clip",
    "entropy_coef": "objective.entropy",
    "entropy_coef_delta": "objective.entropy_step",
    "entropy_coeff": "objective.entropy",
    "epsilon": "objective.clip_low",
    "epsilon_high": "objective.clip_high",
    "importance_sampling_level": "objective.ratio",
    "kl_coef": "objective.kl",
    "kl_loss_coef": "objective.kl",
    "kl_loss_type": "objective.kl_estimator",
    "loss_agg_mode": "objective.reduce",
    "loss_type": "objective.recipe",
    "lr": "learner.learning_rate",
    "mask_truncated_completions": "objective.mask_truncated",
    "max_completion_length": "sampling.max_tokens",
    "max_new_tokens": "sampling.max_tokens",
    "max_response_length": "sampling.max_tokens",
    "max_steps": "run.steps",
    "num_generations": "sampling.group_size",
    "num_iterations": "learner.passes",
    "per_device_train_batch_size": "sampling.groups",
    "ppo_epochs": "learner.passes",
    "ppo_max_token_len_per_gpu": "learner.micro_batch_tokens",
    "rollout.n": "sampling.group_size",
    "sapo_temperature_neg": "objective.gate_negative",
    "sapo_temperature_pos": "objective.gate_positive",
    "save_steps": "run.save_every",
    "scale_rewards": "objective.credit",
    "train_batch_size": "sampling.groups",
    "use_bias_correction_kl": "objective.kl_weighted",
    "vllm_importance_sampling_cap": "objective.correction_cap",
    "vllm_importance_sampling_mode": "objective.correction",
}
FOREIGN_RECIPES = {  # losses that are no recipe here -> how they are had
    "bnpo": "TRL's bnpo is grpo with objective.reduce per_token",
    "luspo": "TRL's luspo takes a ratio and a reduction of your own",
    "reinforce_plus_plus": "verl's reinforce_plus_plus is reinforce_pp",
    "reinforce_plus_plus_baseline": "verl's reinforce_plus_plus_baseline is reinforce_pp_baseline",
    "vespo": "TRL's vespo takes a surrogate of your own",
}
ELSEWHERE = "docs/trl.md has the names of TRL and verl."


def nearest(word: str, choices: Iterable[str], also: Iterable[str] = ()) -> str:
    """A sentence that lists the choices, with what was meant first where that can be told.

    That is one of `choices` in other letters (capitals, dashes), or what TRL or verl calls so, or
    the only one of `choices` and `also` whose last part is this word's. Else it is what is spelled
    nearest, of `choices` if one is near and else of `also`; several where they are equally near.
    """
    names = sorted(choices)
    known = sorted({*names, *also})
    same = [name for name in names if _plain(name) == _plain(word)]
    hint = _meant(same) or _elsewhere(word, names, known) or _meant(_near(word, names))
    return f"{hint or _meant(_near(_tail(word), known, _tail))}Choose one of: {', '.join(names)}."


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """`Did you mean 'ladder'? `, or nothing where no choice is spelled like the word."""
    return _meant(_near(word, sorted(choices)))


def _meant(names: list[str]) -> str:
    return f"Did you mean {' or '.join(map(repr, names))}? " if names else ""


def _plain(word: str) -> str:
    """The word in small letters, without the signs that part its words."""
    return word[:100].lower().replace("-", "").replace("_", "")


def _tail(name: str) -> str:
    return name.lstrip("-").rsplit(".", 1)[-1]


def _near(word: str, names: list[str], by: Callable[[str], str] = str) -> list[str]:
    """The names with the fewest slips between them and the word; at most three, or none."""
    length = len(_plain(_tail(word)))
    slips = {name: _slips(_plain(word), _plain(by(name))) for name in names}
    least = min(slips.values(), default=length)
    if least <= (1 if length < 4 else 2 if length < 9 else 3):
        return [name for name in names if slips[name] == least][:3]
    return get_close_matches(word, names, n=1, cutoff=0.6) if by is str else []


def _slips(one: str, two: str) -> int:
    """Letters lost, added, changed or swapped with the next between two words (Damerau, OSA)."""
    before: list[int] = []
    row = [*range(len(two) + 1)]
    for i, char in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, other in enumerate(two, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (char != other))
            if i > 1 and j > 1 and char == two[j - 2] and one[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _elsewhere(word: str, names: list[str], known: list[str]) -> str:
    """What is meant by a name of another program, or in another section; empty where unknown."""
    plain = word.lstrip("-").replace("-", "_").lower()
    if plain in FOREIGN_RECIPES and "grpo" in names:
        return f"{FOREIGN_RECIPES[plain]}: see docs/trl.md. "
    parts = plain.split(".")
    for tail in (".".join(parts[-2:]), parts[-1]):
        if tail in FOREIGN:
            ours = FOREIGN[tail]
            forms = (ours, f"--{ours}", ours.rsplit(".", 1)[-1])
            return next((f"Did you mean {n!r}? {ELSEWHERE} " for n in forms if n in known), "")
    same = [name for name in known if _tail(name) == parts[-1]]
    return f"Did you mean {same[0]!r}? " if len(same) == 1 else ""


def unknown(kind: str, word: str, choices: Iterable[str]) -> UsageError:
    """The error for a name that is in no registry."""
    return UsageError(f"unknown {kind} {word!r}. {nearest(word, choices)}")
