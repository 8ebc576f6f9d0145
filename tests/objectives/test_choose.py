"""Every axis by name, from Python, TOML and flags; what cannot go together, and its reason."""

from __future__ import annotations

import pytest

from evenodds import credit
from evenodds.cli.flags import Parser, add_settings, config_of, given
from evenodds.errors import UsageError
from evenodds.objectives import RECIPES, make_objective
from evenodds.objectives import correction as corrections
from evenodds.objectives import ratio as ratios
from evenodds.objectives import reduce as reductions
from evenodds.objectives.choose import AXES, KL_PLACES, SETTINGS, named
from evenodds.objectives.describe import axes_of
from evenodds.objectives.penalty import KL
from evenodds.objectives.surrogate import Cispo, Clip, DualClip, Reinforce, SoftGate
from evenodds.run.build import bonus_of, objective_of
from evenodds.run.config import make_config

SEQUENCE = {"ratio": "sequence", "reduce": "per_sequence"}
KEEP = {"zero_signal": "keep"}

CHOSEN = [
    ({"credit": "raw"} | KEEP, lambda o: o.credit is credit.raw),
    ({"credit": "centered"}, lambda o: o.credit is credit.centered),
    ({"credit": "standardized"}, lambda o: o.credit is credit.standardized),
    ({"credit": "standardized_sample"}, lambda o: o.credit is credit.standardized_sample),
    ({"credit": "leave_one_out"}, lambda o: o.credit is credit.leave_one_out),
    ({"credit": "mean_normalized"}, lambda o: o.credit is credit.mean_normalized),
    ({"whiten": True} | KEEP, lambda o: o.whiten),
    ({"ratio": "token"}, lambda o: o.ratio is ratios.token),
    (SEQUENCE, lambda o: o.ratio is ratios.sequence and o.reduce is reductions.per_sequence),
    ({"reduce": "per_answer"}, lambda o: o.reduce is reductions.per_answer),
    ({"reduce": "per_budget"}, lambda o: o.reduce is reductions.per_budget),
    ({"reduce": "per_token"}, lambda o: o.reduce is reductions.per_token),
    ({"surrogate": "clip"}, lambda o: o.surrogate == Clip()),
    ({"clip_low": 0.1, "clip_high": 0.5}, lambda o: o.surrogate == Clip(0.1, 0.5)),
    (
        {"surrogate": "dual_clip", "dual_clip": 2.0},
        lambda o: o.surrogate == DualClip(0.2, 0.28, 2.0),
    ),
    ({"surrogate": "cispo", "clip_high": 2.0}, lambda o: o.surrogate == Cispo(1.0, 2.0)),
    ({"surrogate": "reinforce"}, lambda o: o.surrogate == Reinforce()),
    (
        {"surrogate": "soft_gate", "gate_positive": 2.0, "gate_negative": 3.0},
        lambda o: o.surrogate == SoftGate(2.0, 3.0),
    ),
    ({"kl": 0.1}, lambda o: o.kl_loss == KL(0.1, "k3", False) and o.needs_reference),
    (
        {"kl": 0.1, "kl_in": "loss", "kl_estimator": "k1", "kl_weighted": True},
        lambda o: o.kl_loss == KL(0.1, "k1", True),
    ),
    ({"kl": 0.1, "kl_estimator": "k2"}, lambda o: o.kl_loss == KL(0.1, "k2", False)),
    ({"kl": 0.1, "kl_in": "reward"}, lambda o: o.kl_reward == 0.1 and o.needs_reference),
    ({"kl_in": "measured"}, lambda o: o.measure_kl and o.needs_reference and not o.has_penalty),
    ({"kl_in": "none"}, lambda o: not o.needs_reference),
    ({"kl": 0.0}, lambda o: not o.needs_reference),
    ({"entropy": 0.01}, lambda o: o.entropy == 0.01 and o.has_penalty),
    ({"correction": "token_truncate"}, lambda o: o.correction == corrections.Correction()),
    (
        {"correction": "sequence_mask", "correction_cap": 3.0},
        lambda o: o.correction == corrections.Correction(corrections.mask, 3.0, True),
    ),
    ({"correction": "none"}, lambda o: o.correction is None),
    ({"mask_truncated": False}, lambda o: not o.mask_truncated),
    ({"mask_truncated": False, "overlong": 0.3}, lambda o: o.overlong == 0.3),
    ({"zero_signal": "keep"}, lambda o: o.zero_signal == "keep"),
    ({"zero_signal": "refill"}, lambda o: o.zero_signal == "refill"),
    *[({"recipe": name}, lambda o, name=name: o == RECIPES[name]) for name in sorted(RECIPES)],
]


@pytest.mark.parametrize(
    ("settings", "holds"), CHOSEN, ids=lambda v: "" if callable(v) else str(v)[:60]
)
def test_every_choice_is_reached_from_python_from_toml_and_from_flags(
    settings, holds, tmp_path
) -> None:
    assert holds(make_objective(**settings))
    toml = tmp_path / "config.toml"
    lines = [
        f"{k} = {str(v).lower() if isinstance(v, bool) else repr(v)}" for k, v in settings.items()
    ]
    toml.write_text("[objective]\n" + "\n".join(lines) + "\n")
    assert holds(objective_of(config_of(str(toml), {})))
    parser = Parser("train", "", "")
    add_settings(parser)
    flags = [part for k, v in settings.items() for part in (f"--objective.{k}", str(v))]
    assert holds(objective_of(config_of(None, given(parser.parse(flags)))))


def test_every_setting_is_among_those_choices_and_in_the_configuration() -> None:
    used = {name for settings, _ in CHOSEN for name in settings}
    assert used == {*SETTINGS, "recipe"}
    section = make_config({}).objective.model_dump()
    assert set(section) == {*SETTINGS, "recipe", "entropy_target", "entropy_step"}


REFUSED = [
    (SEQUENCE | {"reduce": "per_answer"}, "Set objective.reduce to per_sequence"),
    (SEQUENCE | {"reduce": "per_token"}, "which only the reduction 'per_sequence' counts once"),
    (SEQUENCE | {"reduce": "per_budget"}, "Set objective.reduce to per_sequence"),
    ({"recipe": "gspo", "reduce": "per_token"}, "Set objective.reduce to per_sequence"),
    ({"reduce": "per_sequence"}, "Set objective.ratio to sequence"),
    ({"recipe": "gspo", "ratio": "token"}, "Set objective.ratio to sequence"),
    (
        SEQUENCE | {"kl": 0.1, "kl_weighted": True},
        "the mean over an answer does not make a KL unbiased",
    ),
    ({"kl": 0.1, "kl_estimator": "k1"}, "'k1' as a loss has nothing of the KL's gradient"),
    ({"credit": "raw"}, "zero_signal cannot be 'drop' with the credit 'raw'"),
    ({"whiten": True}, "zero_signal cannot be 'drop' with whitened advantages"),
    ({"whiten": True, "zero_signal": "refill"}, "Set objective.zero_signal to keep"),
    ({"recipe": "reinforce_pp", "zero_signal": "drop"}, "Set objective.zero_signal to keep"),
    ({"overlong": 0.2}, "Set objective.mask_truncated to false, or objective.overlong to 0"),
    ({"recipe": "dapo", "mask_truncated": True}, "leaves those that reach it out of the loss"),
    ({"recipe": "rloo", "clip_high": 0.3}, "objective.clip_high has no meaning: the surrogate"),
    ({"recipe": "rloo", "clip_low": 0.3}, "objective.clip_low has no meaning: the surrogate"),
    ({"dual_clip": 2.0}, "objective.dual_clip has no meaning: the surrogate is 'clip'"),
    ({"recipe": "sapo", "clip_low": 0.1}, "the surrogate is 'soft_gate'"),
    ({"gate_positive": 1.0}, "objective.gate_positive has no meaning"),
    ({"gate_negative": 1.0}, "objective.gate_negative has no meaning"),
    ({"recipe": "cispo", "dual_clip": 2.0}, "the surrogate is 'cispo'"),
    ({"kl_estimator": "k3"}, "objective.kl_estimator has no meaning: objective.kl_in is 'none'"),
    ({"kl_weighted": True}, "objective.kl_weighted has no meaning: objective.kl_in is 'none'"),
    ({"kl": 0.1, "kl_in": "none"}, "objective.kl has no meaning: objective.kl_in is 'none'"),
    ({"kl": 0.1, "kl_in": "measured"}, "objective.kl has no meaning"),
    ({"kl_in": "loss"}, "the KL has no coefficient. Set objective.kl."),
    ({"kl_in": "reward"}, "the KL has no coefficient. Set objective.kl."),
    (
        {"kl": 0.1, "kl_in": "reward", "kl_estimator": "k3"},
        "only k1 gives the gradient of the KL there",
    ),
    (
        {"kl": 0.1, "kl_in": "reward", "kl_weighted": True},
        "objective.kl_weighted has no meaning: objective.kl_in is 'reward'",
    ),
    ({"correction_cap": 2.0}, "objective.correction_cap has no meaning: there is no correction"),
    (
        {"correction": "none", "correction_cap": 2.0},
        "objective.correction_cap has no meaning: there is no correction",
    ),
]


@pytest.mark.parametrize(("settings", "reason"), REFUSED, ids=lambda v: str(v)[:70])
def test_what_cannot_go_together_is_refused_with_its_reason(settings, reason) -> None:
    with pytest.raises(UsageError) as caught:
        make_objective(**settings)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError) as again:
        objective_of(make_config({"objective": settings}))
    assert str(again.value) == str(caught.value)


UNKNOWN = [
    ({"recipe": "dappo"}, "Did you mean 'dapo'"),
    ({"credit": "centred"}, "unknown credit 'centred'. Did you mean 'centered'"),
    ({"ratio": "tokens"}, "unknown ratio level 'tokens'. Did you mean 'token'"),
    ({"surrogate": "ppo"}, "unknown surrogate 'ppo'"),
    ({"reduce": "per_tokens"}, "unknown reduction 'per_tokens'. Did you mean 'per_token'"),
    ({"correction": "token"}, "unknown correction 'token'"),
    ({"kl": 0.1, "kl_estimator": "k4"}, "unknown KL estimator 'k4'"),
    ({"kl": 0.1, "kl_in": "los"}, "unknown place of the KL 'los'. Did you mean 'loss'"),
    ({"clip": 0.1}, "unknown setting of an objective 'clip'"),
]


@pytest.mark.parametrize(("settings", "reason"), UNKNOWN, ids=lambda v: str(v)[:60])
def test_unknown_names_are_refused_with_the_nearest(settings, reason) -> None:
    with pytest.raises(UsageError) as caught:
        make_objective(**settings)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kl", -0.1),
        ("entropy", -0.1),
        ("clip_low", -0.1),
        ("clip_low", 1.5),
        ("clip_high", -0.1),
        ("dual_clip", 1.0),
        ("gate_positive", 0.0),
        ("gate_negative", 0.0),
        ("correction_cap", 0.0),
        ("overlong", 1.5),
        ("overlong", -0.1),
        ("entropy_target", 0.0),
        ("entropy_step", 0.0),
        ("zero_signal", "dropped"),
        ("kl_in", "losses"),
        ("kl_estimator", "k4"),
        ("whiten", 1),
        ("kl", float("nan")),
        ("kl", True),
    ],
)
def test_values_out_of_their_range_are_refused_by_key(key, value) -> None:
    with pytest.raises(UsageError, match=f"^objective.{key} cannot be"):
        make_config({"objective": {key: value}})


def test_a_surrogate_chosen_by_its_own_name_keeps_the_recipes_settings() -> None:
    assert make_objective("gspo", surrogate="clip").surrogate == RECIPES["gspo"].surrogate
    assert make_objective("gspo", surrogate="dual_clip").surrogate == DualClip(3e-4, 4e-4, 3.0)
    assert make_objective("dual_clip", surrogate="clip").surrogate == Clip(0.2, 0.2)
    assert make_objective("gspo", surrogate="soft_gate").surrogate == SoftGate()
    assert make_objective("grpo", credit="leave_one_out", clip_high=0.4).surrogate == Clip(0.2, 0.4)


def test_none_leaves_the_recipes_own() -> None:
    assert make_objective("dapo", **dict.fromkeys(SETTINGS)) == RECIPES["dapo"]


def test_the_recipes_themselves_are_legal() -> None:
    for name in RECIPES:
        assert make_objective(name) == RECIPES[name]


def test_places_of_the_kl_are_those_of_the_configuration() -> None:
    for place in KL_PLACES:
        kl = 0.1 if place in ("loss", "reward") else None
        assert make_config({"objective": {"kl_in": place, "kl": kl}}).objective.kl_in == place


def test_the_entropy_bonus_of_a_configuration_and_its_target() -> None:
    config = make_config({"objective": {"entropy": 0.01, "entropy_target": 0.3}})
    bonus = bonus_of(config, objective_of(config))
    assert (bonus.coefficient, bonus.target, bonus.step) == (0.01, 0.3, 0.005)
    assert objective_of(config).entropy == 0.01
    with pytest.raises(UsageError, match=r"there is no objective\.entropy_target"):
        objective_of(make_config({"objective": {"entropy_step": 0.01}}))


def test_a_bonus_starts_at_the_coefficient_of_a_recipe_of_ones_own(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(
        "from evenodds.objectives import Objective\nmine = Objective(entropy=0.02)\n"
    )
    recipe = f"{tmp_path / 'mine.py'}:mine"
    config = make_config({"objective": {"recipe": recipe, "entropy_target": 0.3}})
    assert bonus_of(config, objective_of(config)).coefficient == 0.02


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kl", -1.0),
        ("kl", float("nan")),
        ("overlong", 1.5),
        ("dual_clip", 1.0),
        ("correction_cap", 0.0),
        ("zero_signal", "x"),
    ],
)
def test_values_that_python_gives_are_checked_too(name, value) -> None:
    with pytest.raises(UsageError, match=r"cannot be|unknown way"):
        make_objective(**{name: value})


DESCRIBED = {
    "dr_grpo": "credit centered, ratio token, clip 0.2/0.28, reduce per_budget, "
    "truncated masked, zero signal drop",
    "gspo": "credit standardized, ratio sequence, clip 0.0003/0.0004, reduce per_sequence, "
    "truncated masked, zero signal drop",
    "dapo": "credit standardized, ratio token, clip 0.2/0.28, reduce per_token, "
    "truncated scored, zero signal refill, overlong 0.2",
    "reinforce_pp": "credit raw whitened, ratio token, clip 0.2/0.2, reduce per_token, "
    "truncated masked, zero signal keep",
    "rloo": "credit leave_one_out, ratio token, reinforce, reduce per_budget, "
    "truncated masked, zero signal drop",
    "sapo": "credit standardized, ratio token, soft_gate 1/1.05, reduce per_answer, "
    "truncated masked, zero signal drop",
}


@pytest.mark.parametrize("name", sorted(DESCRIBED))
def test_an_objective_in_words(name) -> None:
    assert axes_of(RECIPES[name]) == DESCRIBED[name]


def test_extras_in_words() -> None:
    words = axes_of(
        make_objective(
            "dual_clip", kl=0.1, kl_weighted=True, correction="sequence_mask", entropy=0.01
        )
    )
    assert words.endswith(
        "correction sequence_mask 2, kl 0.1 k3 weighted in the loss, entropy 0.01"
    )
    assert "dual_clip 0.2/0.2/3" in words
    assert axes_of(make_objective(kl=0.1, kl_in="reward")).endswith("kl 0.1 in the reward")
    assert axes_of(make_objective(kl_in="measured")).endswith("kl measured")
    assert {axes_of(o) for o in RECIPES.values()} != {""}
    assert len({axes_of(o) for o in RECIPES.values()}) == len(RECIPES)
    for axis, (_, table) in AXES.items():
        assert table, axis


OWN_KL = """from evenodds.objectives import Objective
from evenodds.objectives.penalty import KL
loss = Objective(kl_loss=KL(0.04, "k2", weighted=True))
reward = Objective(kl_reward=0.05)
measured = Objective(measure_kl=True)
"""


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("loss", {"kl_weighted": False}, (KL(0.04, "k2", False), 0.0, False)),
        ("loss", {"kl": 0.1}, (KL(0.1, "k2", True), 0.0, False)),
        ("loss", {"kl_estimator": "k3"}, (KL(0.04, "k3", True), 0.0, False)),
        ("loss", {"kl_in": "measured"}, (None, 0.0, True)),
        ("loss", {"kl": 0.0}, (None, 0.0, False)),
        ("loss", {"kl_in": "reward"}, (None, 0.04, False)),
        ("reward", {"kl": 0.1}, (None, 0.1, False)),
        ("reward", {"kl_in": "loss"}, (KL(0.05), 0.0, False)),
        ("measured", {"kl": 0.1}, (KL(0.1), 0.0, False)),
        ("measured", {"kl_in": "none"}, (None, 0.0, False)),
    ],
)
def test_what_is_not_said_of_a_kl_is_the_recipes(tmp_path, name, given, wanted) -> None:
    (tmp_path / "mine.py").write_text(OWN_KL)
    found = make_objective(f"{tmp_path / 'mine.py'}:{name}", **given)
    assert (found.kl_loss, found.kl_reward, found.measure_kl) == wanted


def test_a_subclass_has_its_own_name() -> None:
    class Half(Clip):
        pass

    assert named(Half()) == "Half"
    assert named(Clip()) == "clip"


@pytest.mark.parametrize("over", [{"overlong": 0.2, "mask_truncated": False}, {"kl": 0.1}])
def test_penalties_in_the_reward_do_not_go_with_a_division_by_its_mean(over) -> None:
    over = {**over, **({"kl_in": "reward"} if "kl" in over else {})}
    with pytest.raises(UsageError, match="divides by the mean reward"):
        make_objective("maxrl", **over)


@pytest.mark.parametrize("name", ["kl_in", "correction"])
def test_none_on_the_command_line_is_the_choice_none(tmp_path, name) -> None:
    (tmp_path / "mine.py").write_text(
        OWN_KL + "from evenodds.objectives.correction import Correction\n"
        "both = Objective(kl_loss=KL(0.04, 'k2'), correction=Correction())\n"
    )
    parser = Parser("train", "", "")
    add_settings(parser)
    flags = ["--objective", f"{tmp_path / 'mine.py'}:both", f"--objective.{name}", "none"]
    found = objective_of(config_of(None, given(parser.parse(flags))))
    assert (found.kl_loss is None) == (name == "kl_in")
    assert (found.correction is None) == (name == "correction")
