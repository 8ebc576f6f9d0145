"""One group on one screen: reads what its page needs and renders it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.errors import EvenoddsError, RunError, UsageError
from evenodds.places import BUNDLED
from evenodds.records.follow import Seen, seen
from evenodds.records.values import RecordedGroup, read_groups
from evenodds.report.series import is_number
from evenodds.report.text import level_name, one_line
from evenodds.viewer.choice import OWN, Choice, choice_of
from evenodds.viewer.coin import by_coin
from evenodds.viewer.data import Source
from evenodds.viewer.filters import filters_of
from evenodds.viewer.gradient import Pass, Pushes, own_objective, pushes, recipe_objective
from evenodds.viewer.group_view import GroupView, group_view
from evenodds.viewer.groups_page import written
from evenodds.viewer.listing import beside, listing, neighbours
from evenodds.viewer.loading import WORDS, torch_is_loaded
from evenodds.viewer.pages import Place, render
from evenodds.viewer.pieces import Vocabulary, find_tokenizer, read_vocabulary
from evenodds.viewer.scales import MEASURES

if TYPE_CHECKING:
    from evenodds.objectives import Objective


@dataclass(frozen=True)
class Gradient:
    """What the chosen objective does with a step, or in one line why that is not known."""

    pushes: Pushes | None
    turn: Pass
    problem: str = ""
    is_coming: bool = False  # the page shows itself again once it is there


def group_page(place: Place, step: int, group: int, query: Mapping[str, str]) -> str | None:
    """The page of a group; None where there is no such group. query: the rest of the address."""
    path = place.source.files().get(step)
    if path is None:
        return None
    groups = step_groups(path, seen(path))
    found = next((known for known in groups if known.number == group), None)
    choice = choice_of(query)
    if found is None or (choice.answer or 0) >= len(found.answers):
        return None
    gradient = gradient_of(place.source, path, groups, choice, 0.0 if place.live else 300.0)
    view = group_view(
        found,
        vocabulary_of(place.source),
        gradient.pushes,
        gradient.turn,
        other=choice.other,
        only=choice.answer,
        coin=by_coin(place.source.record()),
    )
    return render(place, "group.html.j2", "groups", **_values(place, view, choice, gradient, query))


def _values(
    place: Place, view: GroupView, choice: Choice, gradient: Gradient, query: Mapping[str, str]
) -> dict[str, Any]:
    filters = filters_of(query)
    spot = (view.step, view.number)
    nearby = neighbours(place.source, filters, spot)
    if not place.live:
        nearby = beside(written(place, listing(place.source, filters)), spot)
    return {
        "group": view,
        "table": view.table,
        "choice": choice,
        "by": choice.by or _default(view),
        "measures": MEASURES,
        "recipes": [*dict.fromkeys([OWN, choice.recipe])] if gradient.is_coming else _recipes(),
        "gradient": gradient,
        "nearby": nearby,
        "level": level_name(place.source.record().levels, view.level),
        "difficulty": _difficulty(place.source, view.step),
        "links": Links(place, view, choice, query),
        "list_query": filters.query(),
        "kept": [*filters.pairs().items(), *Choice(answer=choice.answer).query().items()],
        "said": _said(gradient, view.number),
        "replay": _replay(place, view, choice),
    }


def _said(gradient: Gradient, group: int) -> str:
    """What the weights and clips are of, and over which denominators."""
    found = gradient.pushes
    if found is None:
        return ""
    extent = found.extent
    if not extent.rollouts:
        return f"Under {found.axes}, nothing of this step is in the loss: it moves no weight."
    parts = [
        f"Weight and clip: d J / d log π at the {gradient.turn} pass, under {found.axes}.",
        f"Denominators of the whole step: {extent.rollouts:,} answers, {extent.tokens:,} tokens, "
        f"budget {extent.max_tokens:,}.",
    ]
    if any(place[0] == group for place in found.assumed):
        parts.append("Answers that the run left out have no learner's record: ratio 1 is assumed.")
    if found.without:
        parts.append(f"Left out: {found.without}.")
    return " ".join(parts)


@dataclass(frozen=True)
class Links:
    """The addresses on a group page, which keep all that was chosen and the list it came from."""

    place: Place
    view: GroupView
    choice: Choice
    query: Mapping[str, str]

    def to(self, step: int, group: int, **changes: Any) -> str:
        asked = {**filters_of(self.query).pairs(), **self.choice.query(**changes)}
        return self.place.to(f"group/{step}/{group}", asked)

    def here(self, **changes: Any) -> str:
        return self.to(self.view.step, self.view.number, **changes)


def _default(view: GroupView) -> str:
    """The gradient weight where there is one to see, else the log-probability."""
    legend = next(item for item in view.legends if item.measure.name == "weight")
    return "weight" if legend.is_measured and view.informative else "logprob"


def _recipes() -> Sequence[str]:
    from evenodds.objectives import RECIPES

    return [OWN, *RECIPES]


def _difficulty(source: Source, step: int) -> float | None:
    rows = source.record().metrics
    found = next((row.get("difficulty") for row in rows if row.get("step") == step), None)
    return found if is_number(found) else None


def _replay(place: Place, view: GroupView, choice: Choice) -> str:
    """The command line that makes an answer again, as a shell takes it.

    Pages in files may be sent on, so they name the run and not where it lay.
    """
    source = place.source
    folder = str(source.folder) if place.live else source.name
    rollout = f"{view.step}/{view.number}/{choice.answer or 0}"
    return one_line(shlex.join(["evenodds", "replay", folder, rollout]))


@lru_cache(maxsize=2)
def step_groups(path: Path, known: Seen) -> Sequence[RecordedGroup]:
    """The groups of a step. known: what tells that the file has changed."""
    return read_groups(path)


def gradient_of(
    source: Source,
    path: Path,
    groups: Sequence[RecordedGroup],
    choice: Choice,
    wait: float = 0.0,
) -> Gradient:
    """What the chosen objective does with the groups of a step. wait: seconds for torch to load."""
    has_last = any(answer.last is not None for group in groups for answer in group.answers)
    turn: Pass = "last" if has_last and choice.turn != "first" else "first"
    if not torch_is_loaded(wait):
        return Gradient(None, turn, WORDS, is_coming=True)
    section = source.record().config.get("objective")
    settings = json.dumps(section if isinstance(section, Mapping) else {}, default=str)
    try:
        return Gradient(step_pushes(path, seen(path), settings, replace(choice, by=""), turn), turn)
    except EvenoddsError as error:
        return Gradient(None, turn, one_line(str(error), 400))


@lru_cache(maxsize=2)
def step_pushes(path: Path, known: Seen, settings: str, choice: Choice, turn: Pass) -> Pushes:
    """What an objective does with all groups of a step. settings: the run's [objective], as JSON.

    Raises `EvenoddsError` where the objective cannot be had, or does not fit what was recorded.
    """
    groups = step_groups(path, known)
    own, problem = _own(json.loads(settings), None, None)
    if choice.recipe == OWN:
        objective, problem = _own(json.loads(settings), choice.low, choice.high)
        if objective is None:
            raise UsageError(problem)
    else:
        objective = recipe_objective(choice.recipe, choice.low, choice.high)
    try:
        return pushes(groups, own, objective, turn)
    except (ValueError, RuntimeError) as error:
        raise RunError(
            f"this objective cannot be applied to what was recorded: {one_line(str(error), 160)}. "
            "Choose another recipe."
        ) from error


def _own(
    settings: Mapping[str, Any], low: float | None, high: float | None
) -> tuple[Objective | None, str]:
    try:
        return own_objective(settings, low, high), ""
    except UsageError as error:
        return None, str(error)


def vocabulary_of(source: Source) -> Vocabulary | None:
    """The run's tokenizer, read once; None where there is none, and ids are shown."""
    name = source.record().setting("policy", "name")
    path = find_tokenizer(source.folder, name if isinstance(name, str) else BUNDLED)
    return None if path is None else _vocabulary(path, seen(path))


@lru_cache(maxsize=2)
def _vocabulary(path: Path, known: Seen) -> Vocabulary | None:
    return read_vocabulary(path)
