"""Colours: which step of a scale a number falls on, and whether text can be read on it."""

from __future__ import annotations

import math
import re
from importlib.resources import files

import numpy as np
import pytest

from evenodds.viewer.gradient import pushes, recipe_objective
from evenodds.viewer.scales import BY_NAME, legend_of, number, scale_of
from evenodds.viewer.tokens import coloured
from tests.viewer.recorded import GOLDEN, make_answer, make_group


def classes(measure: str, values: list[float]) -> list[str]:
    array = np.array(values)
    return scale_of(BY_NAME[measure], array).classes(array)


def test_steps_of_each_scale() -> None:
    assert classes("logprob", [0.0, math.log(0.6), math.log(0.001), math.nan]) == [
        *("l0", "l2", "l6", "")
    ]
    assert classes("entropy", [0.0, 0.3, 9.0]) == ["e0", "e2", "e6"]
    assert classes("weight", [-1.0, 0.0, 0.5, 1.0]) == ["w0", "w4", "w6", "w8"]
    assert classes("clip", [0.0, 1.0]) == ["c0", "c1"]


def test_noise_of_a_ratio_has_no_colour_and_one_far_out_leaves_the_others_theirs() -> None:
    assert classes("ratio", [1e-7, -2e-7]) == ["r4", "r4"]
    assert classes("ratio", [9.0, 0.35, -0.35]) == ["r8", "r6", "r2"]


def test_all_zero_and_infinite_values_have_a_scale() -> None:
    assert classes("weight", [0.0, 0.0]) == ["w4", "w4"]
    assert classes("kl", [math.inf, -math.inf, 0.1]) == ["k8", "k0", "k8"]
    assert classes("weight", []) == []
    far = np.array([-1e38, 1e38])
    assert legend_of(scale_of(BY_NAME["ratio"], far), far).seen == "0 to –"


def test_legends_say_their_ends_and_what_is_here() -> None:
    values = np.log([0.8, 1.0, 1.25])
    legend = legend_of(scale_of(BY_NAME["ratio"], values), values)
    assert (legend.low, legend.high, legend.seen) == ("< 0.823", "> 1.22", "0.8 to 1.25")
    assert not legend_of(scale_of(BY_NAME["kl"], np.zeros(0)), np.zeros(0)).is_measured
    marks = np.array([0.0, 1.0, 1.0])
    assert legend_of(scale_of(BY_NAME["clip"], marks), marks).seen == "2 of 3 tokens"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (1.00012, "1.00012"), (0.98, "0.980"), (-3.6e-5, "−3.6·10⁻⁵"), (1234.0, "1,234")],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_a_token_has_a_class_of_every_measure_that_has_a_colour_there() -> None:
    weighed = pushes([GOLDEN], None, recipe_objective("grpo", None, None), "first")
    found = coloured(GOLDEN, weighed, "first")
    sizes = [len(answer) for answer in found.classes]
    assert sizes == [2, 5, 8]
    assert {name for token in found.classes[1] for name in token.split() if name[0] == "w"} == {
        "w1"
    }
    assert {token.split()[-1] for token in found.classes[0]} == {"w8"}
    assert [legend.is_measured for legend in found.legends] == [True, True, True, True, False, True]
    names = {name for answer in found.classes for token in answer for name in token.split()}
    assert not names & {"l0", "r4", "c0", "e0", "w4"}
    out = coloured(make_group([make_answer(0, 3, kept=False)]), None, "first")
    assert {name[0] for token in out.classes[0] for name in token.split()} == {"l"}


STYLE = (files("evenodds.viewer") / "static" / "group.css").read_text()
INK = {"light": "#1b1f24", "dark": "#e8ebee"}
PAPER = {"light": "#ffffff", "dark": "#12161b"}


def palette(theme: str) -> dict[str, str]:
    block = STYLE[: STYLE.index("@media")] if theme == "light" else STYLE[STYLE.index("@media") :]
    return dict(re.findall(r"--([sud]\d): (#[0-9a-f]{6})", block))


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_on_every_colour(theme: str) -> None:
    colours = palette(theme)
    assert len(colours) == 14
    assert min(contrast(colour, INK[theme]) for colour in colours.values()) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_scales_go_one_way_in_lightness_too(theme: str) -> None:
    """Whoever sees no hue still sees how much; the sign stands in the numbers."""
    colours = palette(theme)
    for letter, count in (("s", 6), ("u", 4), ("d", 4)):
        run = [PAPER[theme], *(colours[f"{letter}{n}"] for n in range(1, count + 1))]
        steps = np.diff([luminance(colour) for colour in run])
        assert (steps < 0).all() if theme == "light" else (steps > 0).all(), letter


def seen_without_red_or_green(colour: str) -> np.ndarray:
    """A colour as deuteranopia shows it (Viénot, Brettel & Mollon 1999), in linear RGB."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]) ** 2.2
    simulated = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
    return simulated @ parts


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_up_and_down_differ_for_eyes_without_red_and_green(theme: str) -> None:
    colours = palette(theme)
    for n in range(2, 5):
        up, down = (seen_without_red_or_green(colours[f"{side}{n}"]) for side in "ud")
        assert np.abs(up - down).max() > 0.03, n
        assert up[2] > up[0] and down[2] < down[0]  # bluish against yellowish
