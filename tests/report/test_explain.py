"""What `explain` says is what the code that trains does, on golden numbers and on every axis."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from itertools import product

import numpy as np
import pytest
import torch

from evenodds.domain import Limits, Verdict
from evenodds.domain import Status as S
from evenodds.errors import UsageError
from evenodds.lab.explain import Asked, explained
from evenodds.lab.explain.odds import binomial, refilled
from evenodds.lab.explain.picture import svg_of
from evenodds.objectives import RECIPES, Objective
from evenodds.objectives.choose import AXES
from evenodds.report.explain import Curve, Explanation
from evenodds.report.explain_text import lines_of, push_words
from evenodds.run.config import make_config
from evenodds.step import State, StepConfig, Tools, answered
from tests.tiny import make_rollout

WIDEST = 100
GOLDEN = [Asked(1, 2), Asked(0, 5), Asked(1, 8)]


def explain(asked=(), **sections) -> Explanation:
    return explained(make_config(sections), asked)


def of(recipe: str, asked=(), budget: int = 96, **axes) -> Explanation:
    return explain(asked, objective={"recipe": recipe, **axes}, sampling={"max_tokens": budget})


def spans_of(curve: Curve) -> list[tuple[float, float | None, str]]:
    return [(span.low, span.high, span.force) for span in curve.spans]


def remarks(found: Explanation) -> str:
    return " ".join(found.remarks)


@pytest.mark.parametrize(
    ("recipe", "axes", "sums", "absolute"),
    [
        ("grpo", {}, [0.2357, -0.4714, 0.2357], 0.9428),
        ("dr_grpo", {}, [0.0278, -0.1389, 0.1111], 0.2778),
        ("dapo", {"overlong": 0.0}, [0.0943, -0.4714, 0.3771], 0.9428),
        ("dapo", {"overlong": 0.0, "credit": "centered"}, [0.0444, -0.2222, 0.1778], 0.4444),
    ],
)
def test_weights_are_the_golden_ones(recipe, axes, sums, absolute) -> None:
    example = of(recipe, GOLDEN, 8, **axes).example
    assert [answer.total for answer in example.answers] == pytest.approx(sums, abs=5e-5)
    assert example.absolute == pytest.approx(absolute, abs=5e-5)
    assert (example.tokens, example.rollouts, example.max_tokens) == (15, 3, 8)
    assert example.up == pytest.approx(sum(total for total in sums if total > 0), abs=1e-4)


def test_dapo_s_own_overlong_penalty_is_in_the_reward() -> None:
    rewards = [answer.reward for answer in of("dapo", GOLDEN, 8).example.answers]
    assert rewards == [1, 0, 0]  # the third fills the budget: 1 - 1


def test_what_is_out_of_the_loss_says_why_and_leaves_the_denominators() -> None:
    rows = [Asked(1, 4), Asked(0, 3), Asked(0, 16, is_cut=True), Asked(None, 5)]
    masked, scored = (of("dr_grpo", rows, 16, mask_truncated=mask) for mask in (True, False))
    whys = ["", "", "cut by the budget", "could not be judged"]
    assert [answer.why for answer in masked.example.answers] == whys
    assert (masked.example.rollouts, masked.example.tokens) == (2, 7)
    assert [answer.why for answer in scored.example.answers] == ["", "", "", whys[3]]
    assert (scored.example.rollouts, scored.example.tokens) == (3, 23)
    credit = [answer.advantage for answer in masked.example.answers]
    assert credit == pytest.approx([2 / 3, -1 / 3, -1 / 3, 0])  # the cut one is in the mean
    assert masked.example.answers[2].total == masked.example.answers[3].total == 0


def test_a_group_that_agrees_is_dropped_or_kept() -> None:
    rows = [Asked(1, 2), Asked(1, 5)]
    dropped, kept = (of("grpo", rows, 8, zero_signal=what).example for what in ("drop", "keep"))
    assert {answer.why for answer in dropped.answers} == {"the group has no signal"}
    assert (dropped.rollouts, dropped.tokens) == (0, 0)
    # nothing to learn in the step: the batch is empty there as well
    assert (kept.rollouts, kept.absolute) == (0, 0)
    assert any("nothing is in the loss" in line for line in lines_of(of("grpo", rows, 8)))


def test_an_example_that_cannot_be_is_refused() -> None:
    for rows, said in (
        ([Asked(1, 2)], "2 to 64"),
        ([Asked(1, 2), Asked(1, 9)], "9 tokens: the budget is 8"),
        ([Asked(1, 2), Asked(1, 0)], "0 tokens"),
        ([Asked(1, 2), Asked(1, 5, is_cut=True)], "cut at 5"),
    ):
        with pytest.raises(UsageError, match=said):
            of("grpo", rows, 8)


@pytest.mark.parametrize(
    ("recipe", "axes", "up", "down"),
    [
        (
            "dr_grpo",
            {},
            [(0, 1.28, "full"), (1.28, None, "cut")],
            [(0, 0.8, "cut"), (0.8, None, "full")],
        ),
        (
            "dr_grpo",
            {"clip_low": 1.0},
            [(0, 1.28, "full"), (1.28, None, "cut")],
            [(0, None, "full")],
        ),
        (
            "dual_clip",
            {},
            [(0, 1.2, "full"), (1.2, None, "cut")],
            [(0, 0.8, "cut"), (0.8, 3, "full"), (3, None, "cut")],
        ),
        ("cispo", {}, [(0, 5, "full"), (5, None, "capped")], [(0, 5, "full"), (5, None, "capped")]),
        ("rloo", {}, [(0, None, "full")], [(0, None, "full")]),
        ("sapo", {}, [(0, None, "full")], [(0, None, "full")]),
        (
            "gspo",
            {},
            [(0, 1.0004, "full"), (1.0004, None, "cut")],
            [(0, 0.9997, "cut"), (0.9997, None, "full")],
        ),
    ],
)
def test_where_the_push_is_cut(recipe, axes, up, down) -> None:
    found = of(recipe, **axes)
    assert spans_of(found.up) == up
    assert spans_of(found.down) == down


def test_pushes_are_those_of_the_formulas() -> None:
    clip = dict(zip(of("dr_grpo").up.ratios, of("dr_grpo").up.pushes, strict=True))
    assert clip[0.5] == pytest.approx(0.5) and clip[1.2] == pytest.approx(1.2)
    assert clip[1.3] == 0 and clip[3.0] == 0
    cispo = dict(zip(of("cispo").down.ratios, of("cispo").down.pushes, strict=True))
    assert cispo[3.0] == pytest.approx(-3) and cispo[7.0] == pytest.approx(-5)
    sapo = of("sapo").up
    gate = 1 / (1 + math.exp(-1.0))  # tau = 1, ratio 2
    assert dict(zip(sapo.ratios, sapo.pushes, strict=True))[2.0] == pytest.approx(
        4 * gate * (1 - gate) * 2
    )
    assert sapo.at_one == pytest.approx(1) and not sapo.is_proportional
    assert of("rloo").down.is_proportional


def test_the_push_in_words() -> None:
    dual = of("dual_clip")
    assert push_words(dual.down, False) == (
        "no push once a token is less than 0.8 or more than 3 times as likely as when drawn"
    )
    assert "in geometric mean, are more than 1.0004 times" in push_words(of("gspo").up, True)
    assert push_words(of("rloo").up, False).startswith("never cut; the push grows in proportion")
    assert "strongest at ratio 2.0" in push_words(of("sapo").up, False)
    assert "no longer follows the ratio" in push_words(of("cispo").up, False)


def test_a_surrogate_of_a_person_s_own_is_explained(tmp_path) -> None:
    (tmp_path / "own.py").write_text(
        "import torch\n"
        "def hole(log_ratio, tokens):\n"
        "    rho = log_ratio.exp()\n"
        "    return torch.where((rho > 2) & (rho < 2.5), rho.detach(), rho) * tokens.advantages\n"
    )
    found = of("grpo", surrogate=f"{tmp_path}/own.py:hole")
    assert spans_of(found.up) == [(0, 2, "full"), (2, 2.5, "cut"), (2.5, None, "full")]
    assert "between 2 and 2.5 times" in push_words(found.up, False)
    assert "hole(ρ, A)" in found.formula[0]


def test_a_function_of_a_person_s_own_is_not_taken_for_ours_by_its_name(tmp_path) -> None:
    """Nor need it be hashable."""
    (tmp_path / "own.py").write_text(
        "import torch\n"
        "from dataclasses import dataclass\n"
        "def standardized(rewards):\n    return (rewards - rewards.mean()) / 2\n"
        "def clip(log_ratio, tokens):\n    return log_ratio.exp() * tokens.advantages\n"
        "@dataclass\n"
        "class Even:\n"
        "    __name__ = 'per_token'\n"
        "    def __call__(self, tokens, extent):\n"
        "        return torch.full_like(tokens.old_logprobs, 1 / extent.tokens)\n"
        "per_token = Even()\n"
    )
    axes = {"credit": "standardized", "surrogate": "clip", "reduce": "per_token"}
    found = of("grpo", **{axis: f"{tmp_path}/own.py:{name}" for axis, name in axes.items()})
    text = "\n".join(found.formula)
    assert "A = standardized(r), a function of your own" in text and "std(r)" not in text
    assert "w · clip(ρ, A)\nclip: a surrogate of your own" in text
    assert "w = per_token, a function of your own" in text and "1/T" not in text
    assert (found.better, found.worse) == (
        "answers that your own credit raises", "answers that your own credit lowers",
    )  # fmt: skip
    ours = of("grpo")
    assert "A = (r − mean(r)) / std(r), over the answers to one problem" in ours.formula
    assert ours.better == "answers better than their group"


def test_whitening_is_said_of_what_it_whitens() -> None:
    plain, led = of("reinforce_pp"), of("reinforce_pp_baseline")
    after = "then (A − mean)/std over all tokens of the step"
    assert f"A = r, {after}" in plain.formula
    assert f"A = r − mean(r), over the answers to one problem, {after}" in led.formula
    assert plain.better == "answers better than the step's mean"
    assert led.better == "answers whose lead over their group is above the step's mean"


def test_a_coefficient_that_moves_is_in_the_formula_also_where_it_starts_at_0() -> None:
    for start in (0.0, 0.02):
        text = "\n".join(of("dr_grpo", entropy=start, entropy_target=0.3).formula)
        assert "+ κ·H ]" in text
        assert f"κ = {start:g} at the start, then moved so that H stays at 0.3 or above" in text
    assert "κ" not in "\n".join(of("dr_grpo", entropy=0.02).formula)


def test_a_ratio_is_told_against_what_it_is_taken_against() -> None:
    plain, corrected = of("dr_grpo"), of("dr_grpo", correction="token_truncate")
    said = [" ".join(" ".join(lines_of(found)).split()) for found in (plain, corrected)]
    assert "1.28 times as likely as when drawn." in said[0]
    assert "1.28 times as likely as before the step's first update." in said[1]
    assert "when drawn" not in said[1]
    assert "than before the step" in svg_of(corrected)


def test_a_narrow_clip_is_told_apart_from_1() -> None:
    lines = list(lines_of(of("gspo")))
    row = next(line for line in lines if line.startswith("  A = +1"))
    assert row.split()[3:] == [
        "+0.9988", "+0.9992", "+0.9996", "+0.9998", "+1", "+1.0002", "+1.0004", "cut", "cut",
    ]  # fmt: skip


@pytest.mark.usefixtures("no_shapes")
@pytest.mark.parametrize("width", [80, 96])
def test_lines_fit_the_terminal(width) -> None:
    for settings in everything():
        try:
            found = explain(objective=settings, learner={"passes": 2})
        except UsageError:
            continue
        assert not [line for line in lines_of(found, width) if len(line) > width], settings
    blocks = [line for line in lines_of(of("gspo"), 80) if line.startswith("  A = +1")]
    cells = [cell for block in blocks for cell in block.split()[3:]]
    assert len(blocks) > 1 and len(cells) == len(of("gspo").up.ratios)


def test_informative_share_and_advantages_are_the_golden_ones() -> None:
    sampling = {"group_size": 8}
    centered = explain(sampling=sampling)
    standard = explain(sampling=sampling, objective={"recipe": "grpo"})
    rows = {row.p: row for row in centered.odds}
    shares = [rows[p].informative for p in (0.01, 0.1, 0.5, 0.9, 0.99)]
    assert shares == pytest.approx([0.0773, 0.5695, 0.9922, 0.5695, 0.0773], abs=5e-5)
    assert 100 * rows[0.1].draws == pytest.approx(175.58, abs=5e-3)
    for found, golden in (
        (centered, [0.0173, 0.0831, 0.1575, 0.3281, 0.4375]),
        (standard, [0.0517, 0.2349, 0.4190, 0.7598, 0.9278]),
    ):
        means = [row.mean_advantage for row in found.odds[:5]]
        assert means == pytest.approx(golden, abs=5e-5)
    assert standard.lone == pytest.approx((math.sqrt(7), -1 / math.sqrt(7)))
    assert explain(objective={"recipe": "reinforce_pp"}).lone is None


def test_the_ladder_s_target_has_a_row_of_its_own() -> None:
    odds = explain(curriculum={"target": 0.4}).odds
    assert [row.p for row in odds] == [0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 0.99]
    fixed = explain(curriculum={"kind": "uniform", "target": 0.4})
    assert fixed.target is None and len(fixed.odds) == 8


def test_binomial_chances() -> None:
    assert binomial(3, 0.25).tolist() == pytest.approx([27 / 64, 27 / 64, 9 / 64, 1 / 64])


class Fakes:
    """A curriculum, sampler and judge whose groups of two differ with chance 1/2."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.drawn = 0

    def propose(self, count, rng):
        self.drawn += count
        return [type("P", (), {"prompt": "", "key": str(i)}) for i in range(count)]

    def sample(self, prompts, group_size, limits, seed, finished=None):
        return [[make_rollout(1)] * group_size for _ in prompts]

    def judge(self, problems, rollouts):
        return [[Verdict(float(self.rng.random() < 0.5), S.WRONG) for _ in row] for row in rollouts]


def test_refilling_is_expected_as_the_step_does_it() -> None:
    assert refilled(0.5, 2, 2) == pytest.approx((1.5, 3, 1.75))
    assert refilled(0.0, 4, 3) == (0, 12, 3)
    assert refilled(1.0, 4, 3) == (4, 4, 1)
    fakes = Fakes()
    config = StepConfig(4, 2, Limits(4), Objective(zero_signal="refill"), rounds=3)
    useful, rounds, tries = 0, 0, 1500
    for step in range(tries):
        state = State(fakes, step=step)  # pyright: ignore
        groups, sizes = answered(state, Tools(fakes, fakes, None), config)  # pyright: ignore
        useful += sum(group.is_informative for group in groups)
        rounds += len(sizes)
    seen = (useful / tries, fakes.drawn / tries, rounds / tries)
    assert seen == pytest.approx(refilled(0.5, 4, 3), rel=0.03)


def everything() -> list[dict[str, object]]:
    """Every recipe, every choice of every axis on two of them, and every penalty."""
    choices = [{axis: name} for axis, (_, table) in AXES.items() for name in table]
    extras = [
        {"kl": 0.1, "kl_estimator": "k2"},
        {"kl": 0.1, "kl_weighted": True, "kl_estimator": "k1"},
        {"kl": 0.1, "kl_in": "reward"},
        {"kl_in": "measured"},
        {"entropy": 0.01},
        {"entropy_target": 0.2},
        {"mask_truncated": False, "overlong": 0.7},
        {"zero_signal": "refill"},
        {"whiten": True, "zero_signal": "keep"},
        {"correction": "token_mask", "correction_cap": 0.5},
    ]
    alone = [{"recipe": recipe} for recipe in RECIPES]
    both = [{"recipe": r, **axes} for r, axes in product(("dr_grpo", "gspo"), choices + extras)]
    return alone + both


@pytest.mark.usefixtures("no_shapes")
def test_every_recipe_and_axis_is_explained_in_text_data_and_picture() -> None:
    refused, explained_ = 0, 0
    for settings in everything():
        try:
            found = explain(objective=settings, learner={"passes": 2})
        except UsageError:
            refused += 1
            continue
        explained_ += 1
        lines = list(lines_of(found))
        assert max(len(line) for line in lines) <= WIDEST, settings
        assert not any("nan" in line.split() or "None" in line for line in lines), settings
        json.dumps(found.to_dict(), allow_nan=False)
        ElementTree.fromstring(svg_of(found))
    assert explained_ >= 40 and refused <= 16, (explained_, refused)


def test_extreme_settings_are_explained() -> None:
    tiny = explain(sampling={"group_size": 2, "max_tokens": 1, "groups": 1})
    assert [answer.length for answer in tiny.example.answers] == [1, 1]
    large = explain(sampling={"group_size": 3000, "max_tokens": 100_000})
    assert large.odds[0].informative == pytest.approx(1)
    zero = of("dr_grpo", clip_low=0.0, clip_high=0.0)
    assert zero.up.edges == pytest.approx([1.0]) and len(set(zero.up.ratios)) > 5
    for found in (tiny, large, zero):
        assert max(len(line) for line in lines_of(found)) <= WIDEST
        ElementTree.fromstring(svg_of(found))


def test_one_pass_means_that_nothing_clips_where_that_is_so() -> None:
    never = "nothing clips, so clip settings do nothing"
    assert never in remarks(explain())
    assert never not in remarks(explain(learner={"passes": 2}))
    assert "there the clip decides" in remarks(explain(learner={"passes": 2}))
    assert never not in remarks(of("gspo"))
    assert "rounding between sampler and learner may pass it" in remarks(of("gspo"))
    assert never in remarks(of("gspo", correction="token_truncate"))  # then it is exactly 1
    assert "shape of the surrogate away from 1 does nothing" in remarks(of("rloo"))
    drawn = "drawn by the learner's own weights"  # else the ratio is not 1
    assert drawn in remarks(explain()) and drawn in remarks(of("rloo"))
    assert drawn not in remarks(of("gspo", correction="token_truncate"))
    several = explain(objective={"recipe": "gspo"}, learner={"passes": 3})
    assert "rounding between sampler and learner may pass it" in remarks(several)
    exact = {"recipe": "gspo", "correction": "token_truncate"}
    assert "has ratio 1;" in remarks(explain(objective=exact, learner={"passes": 3}))
    many = explain(objective={"recipe": "rloo"}, learner={"passes": 2})
    assert "no clip holds the policy" in remarks(many)


@pytest.mark.parametrize(
    ("axes", "said", "plain"),
    [
        ({"kl_in": "measured"}, "changes no gradient", {}),
        ({"kl": 0.1}, "KL(start ‖ policy)", {"kl": 0.1, "kl_estimator": "k2"}),
        ({"kl": 0.1, "kl_estimator": "k2"}, "KL(policy ‖ start)", {"kl": 0.1}),
        ({"entropy": 0.01}, "A nat of a token's entropy is paid 0.01", {"entropy_target": 1.0}),
        ({"entropy_target": 0.3, "entropy_step": 0.01}, "rises by 0.01", {"entropy": 0.1}),
        (
            {"overlong": 0.6, "mask_truncated": False},
            "begins before half",
            {"overlong": 0.4, "mask_truncated": False},
        ),
        (
            {"overlong": 0.2, "mask_truncated": False, "credit": "standardized"},
            "divided by their own small spread",
            {"overlong": 0.2, "mask_truncated": False},
        ),
        (
            {"kl": 0.1, "kl_in": "reward"},
            "no group agrees: all of them stay in the loss",
            {"kl": 0.1},
        ),
        ({}, "Groups that agree leave the denominators", {"kl": 0.1, "kl_in": "reward"}),
        (
            {"overlong": 0.2, "mask_truncated": False},
            "one whose scores agree has a signal all the same",
            {"overlong": 0.2, "mask_truncated": False, "zero_signal": "refill"},
        ),
        (
            {"correction": "token_mask", "correction_cap": 0.5},
            "leaves out every token",
            {"correction": "token_mask"},
        ),
        ({"zero_signal": "keep"}, "is a smaller step", {}),
        ({"mask_truncated": False}, "learned from as it was judged", {}),
        ({"recipe": "reinforce"}, "There is no baseline", {}),
        (
            {"recipe": "gspo", "clip_low": 0.2, "clip_high": 0.2},
            "hardly ever active",
            {"recipe": "gspo"},
        ),
    ],
)
def test_remarks_stand_where_they_are_true(axes, said, plain) -> None:
    assert said in remarks(explain(objective=axes))
    assert said not in remarks(explain(objective=plain))


def test_a_cap_below_one_masks_all_that_the_example_has() -> None:
    found = of("dr_grpo", correction="token_mask", correction_cap=0.5)
    assert found.example.absolute == 0
    assert found.example.tokens > 0


def test_refilling_without_rounds_is_dropping() -> None:
    def said(rounds: int) -> bool:
        sampling = {"rounds": rounds}
        found = explain(objective={"zero_signal": "refill"}, sampling=sampling)
        return "the same as drop" in remarks(found)

    assert said(1) and not said(2)


def test_tables_hold_what_training_would_pay() -> None:
    overlong = of("dapo", budget=100, overlong=0.5).tables[0]
    assert overlong.rows == ((50, 0), (62, -0.24), (75, -0.5), (88, -0.76), (100, -1))
    reward = of("dr_grpo", budget=100, kl=0.1, kl_in="reward").tables[0]
    assert reward.rows[-1] == pytest.approx((1.25, -0.1 * 50 * math.log(1.25)), rel=1e-5)
    assert reward.rows[1] == (1.0, 0.0)
    loss = of("dr_grpo", kl=0.5, kl_estimator="k2").tables[0]
    double = next(row for row in loss.rows if row[0] == 2.0)
    assert double == pytest.approx((2.0, 0.5 * math.log(2) ** 2 / 2, -0.5 * math.log(2)))
    mask = of("dr_grpo", correction="token_mask").tables[0]
    assert [weight for _, weight in mask.rows] == pytest.approx([0.25, 0.5, 0.8, 1, 1.25, 2, 0])


def test_the_formula_has_the_objective_s_numbers() -> None:
    text = "\n".join(of("dual_clip", kl=0.04, entropy=0.001, budget=12).formula)
    for part in ("clip(ρ, 0.8, 1.2)", "3·A", "− 0.04·k3(l)", "+ 0.001·H", "1/(N·n)"):
        assert part in text
    assert "L = 12 tokens" in of("dr_grpo", budget=12).formula[-1]
    assert "L = 1 token, the budget" in of("dr_grpo", budget=1).formula[-1]
    assert "π_first" in "\n".join(of("dr_grpo", correction="sequence_mask").formula)


def test_the_real_learner_sees_the_weights_that_are_printed() -> None:
    """The same group through the real policy and learner, in one update of plain gradients."""
    from evenodds.batch import collate, lay_out
    from evenodds.lab.explain import example_group
    from evenodds.learner import ask
    from tests.tiny import make_policy

    objective, policy = RECIPES["grpo"], make_policy()
    batch = collate([example_group(GOLDEN, Limits(8))], objective)
    found = []
    for micro in lay_out(batch, 64, pad_id=0, device=policy.device, can_share=True):
        logprobs, entropy = ask(policy, micro, 1.0)
        on_policy = torch.zeros_like(logprobs) + micro.old_logprobs
        tokens = micro.tokens(on_policy.requires_grad_(), entropy)
        (push,) = torch.autograd.grad(-objective.score(tokens, batch.extent).loss, tokens.logprobs)
        sums = tokens.sum_by_answer(push)
        found += list(zip(micro.index, sums.tolist(), strict=True))
    printed = [answer.total for answer in of("grpo", GOLDEN, 8).example.answers]
    assert [total for _, total in sorted(found)] == pytest.approx(printed)


OWN = """
import torch
def neg(log_ratio, tokens):
    return -tokens.advantages * log_ratio.exp()
def flat(log_ratio, tokens):
    return log_ratio
def turning(log_ratio, tokens):
    rho = log_ratio.exp()
    return tokens.advantages * (rho - rho**3 / 6)
def low(log_ratio, tokens):
    rho = log_ratio.exp()
    return tokens.advantages * (rho * rho / 2 - 0.6 * rho)
def one_sided(log_ratio, tokens):
    rho = log_ratio.exp()
    return torch.where(tokens.advantages > 0, rho - rho**3 / 6, -rho)
def lagging(rewards):
    return rewards - 0.25
def reversed_(rewards):
    return rewards.mean() - rewards
"""


@pytest.fixture
def own(tmp_path) -> str:
    (tmp_path / "own.py").write_text(OWN)
    return f"{tmp_path}/own.py"


def test_a_loss_where_a_value_is_wanted_is_said_first(own) -> None:
    found = of("dr_grpo", surrogate=f"{own}:neg")
    assert found.remarks[0] == (
        "WRONG SIGN: at ratio 1 this pushes answers worse than their group up (and better ones "
        "down): what a surrogate returns is maximised, so return the value and not a loss."
    )
    said = " ".join(" ".join(lines_of(found)).split())
    assert "better than their group (A > 0): pushed down at ratio 1; never cut" in said
    assert "worse than their group (A < 0): pushed up at ratio 1; never cut" in said
    assert (found.up.at_one, found.down.at_one) == pytest.approx((-1, 1))


def test_a_surrogate_without_an_advantage_is_said_first(own) -> None:
    found = of("dr_grpo", surrogate=f"{own}:flat")
    assert found.remarks[0].startswith(
        "WRONG SIGN: at ratio 1 this pushes answers worse than their group up: the push is the same"
    )
    assert push_words(found.up, False) == "never cut; the push does not fall up to ratio 100"


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_no_recipe_has_a_wrong_sign(recipe) -> None:
    found = of(recipe)
    assert "WRONG SIGN" not in remarks(found) and "TURNS ROUND" not in remarks(found)
    assert found.up.turns == found.down.turns == ()
    assert not found.up.is_backward and not found.down.is_backward


def test_a_push_that_turns_round_says_where_and_on_which_side(own) -> None:
    found = of("dr_grpo", surrogate=f"{own}:turning")
    assert [turn.ratio for turn in found.up.turns] == pytest.approx([math.sqrt(2)], abs=1e-5)
    assert push_words(found.up, False) == "turns round at 1.41: they are pushed down beyond it"
    assert push_words(found.down, False) == "turns round at 1.41: they are pushed up beyond it"
    assert found.remarks[0] == (
        "TURNS ROUND at ratio 1.41: answers better than their group are pushed down beyond it, and "
        "answers worse than their group up."
    )
    below = of("dr_grpo", surrogate=f"{own}:low")
    assert push_words(below.up, False) == "turns round at 0.6: they are pushed down below it"
    single = of("dr_grpo", surrogate=f"{own}:one_sided")
    assert len(single.up.turns) == 1 and single.down.turns == ()
    assert "beyond it, and" not in single.remarks[0]
    json.dumps(single.to_dict(), allow_nan=False)


def test_a_credit_turned_round_is_said_first(own) -> None:
    found = explain(objective={"credit": f"{own}:reversed_"}, sampling={"group_size": 4})
    assert found.remarks[0].startswith(
        "WRONG SIGN: the credit gives the only right answer of a group A = −0.75 and each wrong one"
        " +0.25"
    )


def counted(found: Explanation) -> str:
    return " ".join(found.counted)


def test_the_table_of_groups_says_what_it_counts(own) -> None:
    plain = "informative: its answers differ; all problems at this solve rate, scores of 0 or 1"
    assert of("dr_grpo").counted == (plain,)
    reward = of("dr_grpo", kl=0.1, kl_in="reward")
    assert "its scores differ" in counted(reward)
    assert "no group agrees once the policy has moved, so all of them teach" in counted(reward)
    for zero_signal in ("drop", "keep"):
        found = of("dr_grpo", kl=0.1, kl_in="reward", zero_signal=zero_signal)
        assert "Groups that agree" not in remarks(found)
    mine = of("dr_grpo", credit=f"{own}:lagging", zero_signal="keep")
    assert "A is +0.75 where all are right, −0.25 where all are wrong" in counted(mine)
    assert "learned from where their advantages are not 0" in remarks(mine)
    assert "A is +1 where all are right, 0 where all are wrong" in counted(of("reinforce"))
    assert "whitening compares with the rest of the step" in counted(of("reinforce_pp"))
    said = " ".join(" ".join(lines_of(mine)).split())
    assert "not counted: groups that agree, which are learned from as well." in said


def texts(svg: str) -> list[str]:
    kind = "{http://www.w3.org/2000/svg}text"
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(kind)]


def test_all_axes_stand_under_the_title_of_the_picture() -> None:
    found = of("dr_grpo", kl=0.1, entropy=0.01, correction="token_mask", zero_signal="keep")
    rows = texts(svg_of(found))
    assert not any("…" in row for row in rows)
    assert found.axes == " ".join(rows[1:3]) and max(map(len, rows[1:3])) <= 131
    assert texts(svg_of(of("rloo")))[1] == of("rloo").axes  # one line where it fits


def test_numbers_of_the_picture_have_one_minus() -> None:
    rows = texts(svg_of(of("dr_grpo")))
    assert "−3" in rows and "−0.0302" in rows
    assert not [row for row in rows if row.startswith("-")]


def test_short_answers_beside_a_long_one_are_seen_and_numbered() -> None:
    rows = [Asked(1 - place % 2, 500 if place == 0 else 1 + place) for place in range(12)]
    svg = svg_of(of("dr_grpo", rows, 512))
    bars = [
        float(node.get("width", "0"))
        for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect")
        if node.get("class", "").startswith("s ")
    ]
    assert len(bars) == 12 and min(bars) == 8
    found = of("dr_grpo", rows, 512).example.answers
    for answer in found:
        assert f"{answer.total:+.2g}".replace("-", "−") in texts(svg)
