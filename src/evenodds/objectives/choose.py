"""A recipe with some of its axes changed by name; what cannot go together is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

from evenodds.credit import CREDITS
from evenodds.errors import UsageError, unknown
from evenodds.objectives.check import check_own, guarded
from evenodds.objectives.correction import CORRECTIONS, Correction
from evenodds.objectives.legal import require_legal, require_sound
from evenodds.objectives.objective import Objective, ZeroSignal
from evenodds.objectives.penalty import ESTIMATORS, KL
from evenodds.objectives.ratio import RATIOS
from evenodds.objectives.recipes import RECIPES
from evenodds.objectives.reduce import REDUCTIONS
from evenodds.objectives.surrogate import SURROGATES, Clip, DualClip
from evenodds.own import FAILURES, described
from evenodds.undisturbed import loaded

Settings = Mapping[str, Any]

AXES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "credit": ("credit", CREDITS),
    "ratio": ("ratio level", RATIOS),
    "surrogate": ("surrogate", SURROGATES),
    "reduce": ("reduction", REDUCTIONS),
    "correction": ("correction", CORRECTIONS),
}
SHAPES = {  # setting -> field of the surrogate that it changes
    "clip_low": "low",
    "clip_high": "high",
    "dual_clip": "dual",
    "gate_positive": "positive",
    "gate_negative": "negative",
}
BOUNDS = {  # setting -> least and most; the least of those in OPEN is itself not allowed
    "clip_low": (0.0, 1.0),
    "clip_high": (0.0, 1e6),
    "dual_clip": (1.0, 1e6),
    "gate_positive": (1e-3, 1e3),
    "gate_negative": (1e-3, 1e3),
    "kl": (0.0, 1e3),
    "entropy": (0.0, 1e3),
    "correction_cap": (0.0, 1e6),
    "overlong": (0.0, 1.0),
}
OPEN = ("dual_clip", "correction_cap")
ZERO_SIGNAL = get_args(ZeroSignal)
PLAIN = ("whiten", "entropy", "mask_truncated", "overlong", "zero_signal")
KL_PLACES = ("none", "measured", "loss", "reward")


def _pick(kind: str, name: str, table: Mapping[str, Any]) -> Any:
    """An entry by name, or what `file.py:name` names."""
    if ":" in name:
        return loaded(name)
    if name not in table:
        raise unknown(kind, name, table)
    return table[name]


def _surrogate(base: Any, settings: Settings) -> Any:
    chosen = settings.get("surrogate")
    picked = base if chosen is None else _pick(*_axis("surrogate", chosen))
    made: Any = _instance(picked) if isinstance(picked, type) else picked
    if chosen is not None and type(made) is type(base):
        made = base  # the recipe's own, by its name: its settings stay
    elif isinstance(made, Clip | DualClip) and isinstance(base, Clip | DualClip):
        made = replace(made, low=base.low, high=base.high)  # the same two bounds
    known = {field.name for field in fields(made)} if is_dataclass(picked) else set[str]()
    changed = {name: settings[name] for name in SHAPES if settings.get(name) is not None}
    for name in changed:
        if SHAPES[name] not in known:
            raise UsageError(
                f"objective.{name} has no meaning: the surrogate is {named(made)!r}. "
                "Leave it out, or choose another surrogate."
            )
    shapes = {SHAPES[name]: value for name, value in changed.items()}
    return replace(made, **shapes) if shapes else made


def _instance(kind: type) -> Any:
    """A surrogate with the settings that its class has by default."""
    try:
        return kind()
    except FAILURES as error:
        raise UsageError(
            f"the surrogate {kind.__name__} cannot be made without settings. "
            f"Got {described(error)}. Give its fields defaults."
        ) from error


def _axis(axis: str, name: str) -> tuple[str, str, Mapping[str, Any]]:
    kind, table = AXES[axis]
    return kind, name, table


def named(choice: Any) -> str:
    """The name of a choice on its axis, as it is written in a configuration."""
    for _, table in AXES.values():
        for name, entry in table.items():
            if _is_choice(entry, choice):
                return name
    name = getattr(choice, "__name__", None)
    shown = name if isinstance(name, str) else type(choice).__name__
    return "".join(letter for letter in shown if letter.isprintable())[:60]


def _is_choice(entry: Any, choice: Any) -> bool:
    """Whether `choice` is this entry of an axis, whatever its settings."""
    if isinstance(entry, Correction) and isinstance(choice, Correction):
        return (entry.bound, entry.sequence) == (choice.bound, choice.sequence)
    return entry is choice or type(choice) is entry


def _kl(settings: Settings, base: Objective) -> dict[str, Any]:
    """The fields of an objective that say where a KL goes; what is not given is the recipe's."""
    place = settings.get("kl_in") or _place_of(settings, base)
    if place not in KL_PLACES:
        raise unknown("place of the KL", place, KL_PLACES)
    given = {name: settings.get(name) for name in ("kl", "kl_estimator", "kl_weighted")}
    if place in ("none", "measured"):
        _refuse_given(place, **given)
        return {"measure_kl": place == "measured"}
    own = base.kl_loss or KL(base.kl_reward)
    coefficient = own.coefficient if given["kl"] is None else given["kl"]
    if not coefficient:
        raise UsageError(
            f"objective.kl_in is {place!r}, but the KL has no coefficient. Set objective.kl."
        )
    if place == "reward":
        return _kl_reward(coefficient, given["kl_estimator"], given["kl_weighted"])
    estimator = given["kl_estimator"] or own.estimator
    if estimator not in ESTIMATORS:
        raise unknown("KL estimator", estimator, ESTIMATORS)
    weighted = own.weighted if given["kl_weighted"] is None else given["kl_weighted"]
    return {"kl_loss": KL(coefficient, estimator, weighted)}


def _place_of(settings: Settings, base: Objective) -> str:
    """Where the KL goes if that is not said: where the recipe has it, else into the loss."""
    coefficient = settings.get("kl")
    if coefficient == 0:
        return "none"
    if base.kl_loss is not None or base.kl_reward:
        return "reward" if base.kl_reward else "loss"
    if coefficient is not None:
        return "loss"
    return "measured" if base.measure_kl else "none"


def _kl_reward(coefficient: float, estimator: str | None, weighted: bool | None) -> dict[str, Any]:
    if estimator not in (None, "k1"):
        raise UsageError(
            f"objective.kl_estimator cannot be {estimator!r} in the reward: only k1 gives the "
            "gradient of the KL there. Leave it out, or set objective.kl_in to loss."
        )
    _refuse_given("reward", kl_weighted=weighted)
    return {"kl_reward": coefficient}


def _refuse_given(place: str, **given: Any) -> None:
    for name, value in given.items():
        if value:
            raise UsageError(
                f"objective.{name} has no meaning: objective.kl_in is {place!r}. "
                "Leave it out, or set objective.kl_in to loss."
            )


def _correction(settings: Settings, base: Correction | None) -> Correction | None:
    name, cap = settings.get("correction"), settings.get("correction_cap")
    chosen = base
    if name is not None:
        chosen = None if name == "none" else _pick(*_axis("correction", name))
    if not isinstance(chosen, Correction | None):
        raise UsageError(
            f"{name} is not a Correction. Got a {type(chosen).__name__}. "
            "Write name = Correction(bound, cap, sequence) with a bound of your own."
        )
    if cap is None:
        return chosen
    if chosen is None:
        raise UsageError(
            "objective.correction_cap has no meaning: there is no correction. "
            f"Leave it out, or set objective.correction to one of {', '.join(CORRECTIONS)}."
        )
    return replace(chosen, cap=cap)


SETTINGS = (
    *AXES,
    *SHAPES,
    *PLAIN,
    "kl",
    "kl_in",
    "kl_estimator",
    "kl_weighted",
    "correction_cap",
)


def make_objective(recipe: str = "dr_grpo", **settings: Any) -> Objective:
    """A recipe with some of its axes changed; a setting that is None leaves the recipe's own.

    settings: those of `SETTINGS`, explained in `docs/objectives.md`. A name may also be
    `file.py:name`, for a function of a person's own (recipe: for an `Objective`).
    Raises `UsageError` for an unknown name, and for choices that cannot go together.
    """
    for name in settings:
        if name not in SETTINGS:
            raise unknown("setting of an objective", name, SETTINGS)
    base = _recipe(recipe)
    given = {name: value for name, value in settings.items() if value is not None}
    _require_sound(given)
    changed: dict[str, Any] = {name: given[name] for name in PLAIN if name in given}
    for axis in ("credit", "ratio", "reduce"):
        if axis in given:
            changed[axis] = _pick(*_axis(axis, given[axis]))
    changed["surrogate"] = _surrogate(base.surrogate, given)
    changed["correction"] = _correction(given, base.correction)
    if any(name in given for name in ("kl", "kl_in", "kl_estimator", "kl_weighted")):
        changed |= {"kl_loss": None, "kl_reward": 0.0, "measure_kl": False} | _kl(given, base)
    objective = replace(base, **changed)
    require_sound(objective)
    if any(isinstance(value, str) and ":" in value for value in (recipe, *given.values())):
        objective = guarded(objective)
        check_own(objective)
    require_legal(objective)
    return objective


def _require_sound(given: Settings) -> None:
    """Raise `UsageError` for a number out of its bounds, NaN among them, or an unknown word."""
    for name, (least, most) in BOUNDS.items():
        value = given.get(name, most)
        if not least <= value <= most or (name in OPEN and value == least):
            inside = "above" if name in OPEN else "from"
            raise UsageError(
                f"objective.{name} cannot be {value!r}. "
                f"It should be a number {inside} {least:g} up to {most:g}."
            )
    word = given.get("zero_signal", "drop")
    if word not in ZERO_SIGNAL:
        raise unknown("way with groups that agree", word, ZERO_SIGNAL)


def _recipe(name: str) -> Objective:
    found = _pick("objective", name, RECIPES)
    if not isinstance(found, Objective):
        raise UsageError(
            f"{name} is not an Objective. Got a {type(found).__name__}. "
            "A function of your own goes to an axis, such as objective.surrogate."
        )
    return found
