"""The two settings that are compared, and how large the experiment is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenodds.errors import unknown
from evenodds.lab.toy.base import Books
from evenodds.lab.toy.grammar import LONGEST


@dataclass(frozen=True)
class Setting:
    """How the base is trained further.

    prompts: how many problems are trained on; None is all that are not held out.
    group_size: answers to a problem in a step. passes: optimizer steps on each batch of answers.
    kl: coefficient of the KL (k3) to the base in the loss; at 0 it is only measured.
    below: only problems with a smaller sum are trained on.
    entropy: what a nat of token entropy is paid at first, while there is less of it than `hold`
    times the base's own on the training problems; it moves by `entropy_step` after each step.
    """

    name: str
    about: str
    prompts: int | None = 12
    group_size: int = 4
    learning_rate: float = 1e-2
    passes: int = 4
    kl: float = 0.0
    entropy: float = 0.0
    entropy_step: float = 0.0
    hold: float = 1.0
    below: int = 100


@dataclass(frozen=True)
class Profile:
    """How large the experiment is.

    steps: training steps by setting. samples: answers to a problem in an evaluation. held_out:
    problems kept for evaluation. checks: evaluations on the way, with `check_samples` answers.
    groups: problems a step.
    """

    name: str
    books: Books
    steps: Mapping[str, int]
    samples: int = 16
    held_out: int = 80
    groups: int = 12
    checks: int = 0
    check_samples: int = 8
    max_tokens: int = field(default=LONGEST)


NARROW = Setting(
    "narrow", "12 prompts, 4 answers each, 4 passes a batch, rate 1e-2, no KL, no entropy bonus"
)
KEPT = Setting(
    "kept",
    "all training prompts, 32 answers each, 1 pass, rate 1e-3, KL 0.2, entropy held at the base's",
    prompts=None,
    group_size=32,
    learning_rate=1e-3,
    passes=1,
    kl=0.2,
    entropy=0.15,
    entropy_step=0.002,
)
SETTINGS = {setting.name: setting for setting in (NARROW, KEPT)}

SMOKE = Profile(
    "smoke",
    Books(steps=700, rows=40, rate=8e-3, slip=0.15),
    {"narrow": 15, "kept": 40},
)
FULL = Profile(
    "full",
    Books(steps=1500, rows=48, rate=1e-2, slip=0.2),
    {"narrow": 20, "kept": 80},
    samples=32,
    checks=5,
)
PROFILES = {profile.name: profile for profile in (SMOKE, FULL)}


def find_profile(profile: str | Profile) -> Profile:
    """Raises `UsageError` for an unknown name."""
    if isinstance(profile, Profile):
        return profile
    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    return PROFILES[profile]


def find_setting(setting: str | Setting) -> Setting:
    """Raises `UsageError` for an unknown name."""
    if isinstance(setting, Setting):
        return setting
    if setting not in SETTINGS:
        raise unknown("setting", setting, SETTINGS)
    return SETTINGS[setting]
