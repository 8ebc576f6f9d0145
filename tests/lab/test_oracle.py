"""The oracle itself: its policies, its closed forms, and what the command says."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from evenodds.cli import main
from evenodds.lab.oracle import cases, check, closed, coupled, forms, markdown, printed
from evenodds.lab.oracle.coupled import Answers
from evenodds.lab.oracle.estimate import estimate, multisets, ordered
from evenodds.lab.oracle.forms import FORMS
from evenodds.lab.oracle.tree import Tree, gru, gru_logprobs, gru_size, tabular
from evenodds.lab.oracle.world import make_world, with_other_sampler
from evenodds.objectives import RECIPES, make_objective

TREE = Tree(2, 3)


def some(make, seed: int = 3):
    size = gru_size(TREE) if make is gru else len(TREE.prefixes) * TREE.symbols
    return np.random.default_rng(seed).normal(size=size)


def test_a_tree_holds_every_answer_once() -> None:
    spelled = [TREE.spelled(answer) for answer in TREE.answers]
    assert len(spelled) == len(set(spelled)) == 1 + 2 + 4 + 8
    assert spelled[:4] == [".", "a.", "b.", "aa."]
    assert spelled[-1] == "bbb"  # reached the budget without an end
    assert TREE.lengths[:4].tolist() == [1, 2, 2, 3]
    assert TREE.nodes[1].tolist() == [0, 5, -1]  # a after nothing, end after a


@pytest.mark.parametrize("make", [tabular, gru])
def test_probabilities_of_all_answers_add_up_to_one(make) -> None:
    table = make(TREE, some(make))
    assert table.probabilities.sum() == pytest.approx(1.0, abs=1e-14)
    assert table.logprobs.dtype == np.float64


@pytest.mark.parametrize("make", [tabular, gru])
def test_gradients_agree_with_finite_differences(make) -> None:
    start = some(make)
    table = make(TREE, start)
    step = 1e-5
    for at in range(0, start.size, 7):
        away = np.zeros_like(start)
        away[at] = step
        up, down = make(TREE, start + away), make(TREE, start - away)
        assert table.gradient[:, at] == pytest.approx(
            (up.logprobs - down.logprobs) / (2 * step), abs=1e-8
        )
        assert table.entropy_gradient[:, at] == pytest.approx(
            (up.entropy - down.entropy) / (2 * step), abs=1e-8
        )


def test_the_gru_reads_its_prefix() -> None:
    """What follows `a` is not what follows `b`, and the order of letters matters."""
    values = gru_logprobs(TREE, torch.from_numpy(some(gru))).reshape(-1, TREE.symbols)
    number = {prefix: at for at, prefix in enumerate(TREE.prefixes)}
    assert not torch.allclose(values[number[(0,)]], values[number[(1,)]])
    assert not torch.allclose(values[number[(0, 1)]], values[number[(1, 0)]])


def finite_difference(value, start: np.ndarray, step: float = 1e-5) -> np.ndarray:
    found = np.zeros_like(start)
    for at in range(start.size):
        away = np.zeros_like(start)
        away[at] = step
        found[at] = (value(start + away) - value(start - away)) / (2 * step)
    return found


def test_the_aims_are_gradients_of_what_they_say() -> None:
    """Expected reward, KL of whole answers and entropy along an answer, by finite differences."""
    start = some(tabular)
    reference = tabular(TREE, some(tabular, 4))
    rewards = make_world("tabular", 2, 3).rewards[0]
    world = replace(make_world("tabular", 2, 3), reference=reference.logprobs)

    def at(parameters):
        table = tabular(TREE, parameters)
        return closed.exact(replace(world, current=table, old=table.logprobs))

    exact = at(start)
    kl = finite_difference(lambda x: at(x).likely @ -at(x).gap.sum(1), start)
    assert closed.kl_gradient(exact) == pytest.approx(kl, abs=1e-7)
    reward = finite_difference(lambda x: at(x).likely @ rewards, start)
    assert closed.reward_gradient(exact, rewards) == pytest.approx(reward, abs=1e-8)
    entropy = finite_difference(lambda x: at(x).likely @ at(x).entropy.sum(1), start)
    assert closed.entropy_gradient(exact) == pytest.approx(entropy, abs=1e-7)


def test_a_multiset_stands_for_all_its_orders() -> None:
    world = make_world("tabular", 1, 3, "off")
    for size in (2, 3):
        together = estimate(world, RECIPES["grpo"], (size,), draws=multisets)
        apart = estimate(world, RECIPES["grpo"], (size,), draws=ordered)
        assert together.mean == pytest.approx(apart.mean, abs=1e-15)
        assert together.std == pytest.approx(apart.std, rel=1e-12)
        assert together.clipped_low == pytest.approx(apart.clipped_low, rel=1e-12)
    assert sum(weight for _, weight in multisets(world.drawn, 3)) == pytest.approx(1.0)


def test_scales_against_all_groups_counted_one_by_one() -> None:
    """E[A | o] = scale (r - p), by going through the 2^G patterns of right and wrong."""
    p, size = 0.3, 4
    found = dict.fromkeys(("centered", "standardized", "sample", "mean"), 0.0)
    for pattern in np.ndindex(*[2] * size):
        r = np.array(pattern, dtype=float)
        weight = float(np.prod(np.where(r == 1, p, 1 - p)))
        if 0 < r.sum() < size and r[0] == 1:
            deviation = r[0] - r.mean()
            found["centered"] += weight * deviation
            found["standardized"] += weight * deviation / r.std()
            found["sample"] += weight * deviation / (r.std(ddof=1) + 1e-4)
            found["mean"] += weight * deviation / r.mean()
    scales = {name: value / p / (1 - p) for name, value in found.items()}
    assert closed.scale_centered(size) == pytest.approx(scales["centered"])
    assert closed.scale_standardized(size, p) == pytest.approx(scales["standardized"])
    assert closed.scale_sample(size, p, 1e-4) == pytest.approx(scales["sample"])
    assert closed.scale_mean_normalized(size, p) == pytest.approx(scales["mean"])


def test_difficulty_takes_four() -> None:
    """No bias of two, sqrt 2 of three whatever p, and of four one that grows as p falls."""
    assert [closed.scale_standardized(2, p) for p in (0.05, 0.5)] == pytest.approx([1, 1])
    assert [closed.scale_standardized(3, p) for p in (0.05, 0.5)] == pytest.approx([2**0.5] * 2)
    four = [closed.scale_standardized(4, p) for p in (0.05, 0.2, 0.5)]
    assert four == pytest.approx(
        [3**0.5 * (p * p + (1 - p) ** 2) + 3 * p * (1 - p) for p in (0.05, 0.2, 0.5)]
    )
    for size in (cases(), cases(quick=True)):
        assert {c.sizes for c in size if "difficulty" in c.says and "√(T" not in c.says} == {(4,)}


def test_a_known_difficulty_bias() -> None:
    """Mean |A| of FORMULAS at G = 8: .0831 and .2349 at p = .05; E|A| = 2 p q scale."""
    for p, mean_centered, mean_standardized in ((0.05, 0.0831, 0.2349), (0.5, 0.4375, 0.9278)):
        twice = 2 * p * (1 - p)
        assert twice * closed.scale_centered(8) == pytest.approx(mean_centered, abs=5e-5)
        assert twice * closed.scale_standardized(8, p) == pytest.approx(mean_standardized, abs=5e-5)


def test_two_ways_to_the_tokens_of_a_group() -> None:
    """The integral over z and the sum over kinds are the same expectation."""
    world = make_world("tabular", 2, 3)
    exact, rewards = closed.exact(world), world.rewards[0]
    everyone = Answers(rewards, exact.lengths, np.ones_like(rewards))
    kinds = coupled.coupled(exact.drawn, [everyone], [4], coupled.per_token(coupled.standardized))
    table = closed.standardized_by_count(4)
    integral = closed.per_token_by_integral(exact, rewards, 4, table)
    for one, other in zip(kinds, integral, strict=True):
        assert one == pytest.approx(other, abs=1e-14)


def test_the_masked_closed_form_against_kinds() -> None:
    world = replace(make_world("tabular", 2, 3), cut=True)
    exact, rewards = closed.exact(world), world.rewards[0]
    everyone = Answers(rewards, exact.lengths, 1.0 - world.truncated)
    kinds = coupled.coupled(exact.drawn, [everyone], [3], coupled.per_rollout(coupled.centered))
    by_hand = closed.masked_centered(exact, rewards, world.truncated, 3)
    assert sum(kinds) == pytest.approx(sum(by_hand), abs=1e-14)


def test_every_recipe_has_a_form() -> None:
    """A new recipe says what it does to the gradient, or it is not in."""
    assert set(FORMS) == set(RECIPES)


def test_every_choice_on_an_axis_has_a_row() -> None:
    from evenodds.credit import CREDITS
    from evenodds.objectives.correction import CORRECTIONS
    from evenodds.objectives.penalty import ESTIMATORS
    from evenodds.objectives.ratio import RATIOS
    from evenodds.objectives.reduce import REDUCTIONS
    from evenodds.objectives.surrogate import SURROGATES

    seen = [case.objective for case in cases(quick=True)]
    assert {o.credit for o in seen} == set(CREDITS.values())
    assert {o.ratio for o in seen} == set(RATIOS.values())
    assert {type(o.surrogate) for o in seen} == set(SURROGATES.values())
    assert {o.reduce for o in seen} == set(REDUCTIONS.values())
    corrections = {(o.correction.bound, o.correction.sequence) for o in seen if o.correction}
    assert corrections == {(c.bound, c.sequence) for c in CORRECTIONS.values()}
    kls = {(o.kl_loss.estimator, o.kl_loss.weighted) for o in seen if o.kl_loss}
    assert kls == {(name, weighted) for name in ESTIMATORS for weighted in (False, True)}
    assert {o.zero_signal for o in seen} == {"drop", "keep", "refill"}
    assert {o.mask_truncated for o in seen} == {o.whiten for o in seen} == {True, False}
    assert any(o.overlong for o in seen) and any(o.kl_reward for o in seen)
    assert any(o.entropy for o in seen)


def test_the_reduced_oracle_is_as_documented() -> None:
    rows = [check(case) for case in cases(quick=True)]
    assert [(row.case.name, row.failures) for row in rows if not row.is_ok] == []
    assert max(row.deviation for row in rows) < 1e-11
    assert len(rows) > 60


def test_off_policy_a_tenth_is_clipped_on_each_side() -> None:
    for where in ("tabular", 2, 3), ("GRU", 2, 3), ("tabular", 1, 3), ("GRU", 2, 2):
        row = check(forms.recipe_case("dr_grpo", make_world(*where, "off"), 2))
        assert min(row.clipped) >= 0.1, (where, row.clipped)


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_recipe_on_the_gru(recipe: str) -> None:
    for where in ("on", "off"):
        row = check(forms.recipe_case(recipe, make_world("GRU", 2, 3, where), 2))
        assert row.failures == (), recipe
        assert row.deviation < 1e-12


def test_known_factors() -> None:
    """Numbers by hand, not from a closed form: one half at G = 2, two thirds at G = 3."""
    world = make_world("tabular", 1, 3)
    rows = {name: check(forms.recipe_case(name, world, 3)) for name in ("dr_grpo", "rloo")}
    assert rows["dr_grpo"].ratio == pytest.approx(2 / 3)
    assert rows["rloo"].ratio == pytest.approx(1.0)
    assert check(forms.recipe_case("dr_grpo", world, 2)).ratio == pytest.approx(0.5)
    assert rows["rloo"].angle < 1e-6
    assert check(forms.recipe_case("grpo", world, 3)).angle > 5  # the length bias turns it


def test_std_of_the_estimator_by_sampling() -> None:
    world = make_world("tabular", 1, 3)
    moments = estimate(world, RECIPES["rloo"], (2,))
    exact, rewards = closed.exact(world), world.rewards[0]
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(rewards), size=(20_000, 2), p=exact.drawn)
    credit = rewards[drawn] - rewards[drawn[:, ::-1]]
    samples = (credit[..., None] * exact.score[drawn]).sum(1) / (2 * exact.budget)
    spread = np.sqrt(((samples - samples.mean(0)) ** 2).sum(1).mean())
    assert moments.std == pytest.approx(spread, rel=0.02)


def test_a_row_that_claims_too_much_fails() -> None:
    case = next(case for case in cases("dr_grpo", quick=True) if case.factor is not None)
    assert check(case).is_ok
    assert "closed form" in check(replace(case, expected=1.001 * case.expected)).failures[0]
    assert "of the aim" in check(replace(case, factor=1.0)).failures[0]
    assert "clip shares" in check(replace(case, clipped=(0.1, 0.0))).failures[0]
    assert "on one side" in check(replace(case, both_sides=True)).failures[0]


def test_a_nan_fails() -> None:
    case = next(cases("dr_grpo", quick=True))
    bad = case.expected.copy()
    bad[0] = np.nan
    assert not check(replace(case, expected=bad)).is_ok


def test_float32_is_seen() -> None:
    """Log-probs that went through float32 are 1e-8 away: the tolerance is below that."""
    case = next(case for case in cases("grpo", quick=True) if case.world.where == "off")
    rounded = case.world.old.astype(np.float32).astype(np.float64)
    row = check(replace(case, world=replace(case.world, old=rounded)))
    assert not row.is_ok


def test_the_other_sampler_is_a_distribution() -> None:
    world = with_other_sampler(make_world("tabular", 2, 3))
    assert world.drawn.sum() == pytest.approx(1.0)
    assert world.where == "sampler"
    assert np.abs(world.drawn - make_world("tabular", 2, 3).drawn).max() > 0.01


def test_settings_by_name_make_the_objectives_of_the_rows() -> None:
    """What a person writes in a config is what the oracle proved."""
    rows = {(case.name, case.world.where): case.objective for case in cases(quick=True)}
    made = make_objective("rloo", kl=0.5, kl_in="reward")
    assert rows["rloo, KL in the reward, drop", "on"] == made
    made = make_objective("dr_grpo", kl=0.5, kl_estimator="k3", zero_signal="keep")
    assert rows["dr_grpo, k3, keep", "on"] == made
    made = make_objective("dr_grpo", correction="sequence_mask", correction_cap=1.1)
    assert rows["answer, mask 1.1", "sampler"] == made
    made = make_objective("dr_grpo", surrogate="cispo", clip_low=0.3, clip_high=0.2)
    assert rows["cispo .3/.2", "off"] == made
    made = make_objective("rloo", overlong=2 / 3, mask_truncated=False)
    assert rows["soft overlong, rloo", "on"] == made


def test_the_command_prints_one_table(capsys, monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["lab", "oracle", "--quick", "--recipe", "rloo"]) == 0
    out = capsys.readouterr().out
    assert "rloo" in out and "E ĝ / aim" in out and "all 5 rows are as documented" in out
    assert "FAILS" not in out and "\x1b" not in out


def test_the_command_ends_with_3_and_names_the_row(capsys, monkeypatch) -> None:
    from evenodds.objectives import recipes

    monkeypatch.setitem(recipes.RECIPES, "rloo", RECIPES["dr_grpo"])
    assert main(["lab", "oracle", "--quick", "--recipe", "rloo"]) == 3
    captured = capsys.readouterr()
    assert "FAILS" in captured.out
    assert "rloo (tabular, on)" in captured.err and captured.err.count("\n") == 1


def test_the_command_refuses_a_name_that_is_not_there(capsys) -> None:
    assert main(["lab", "oracle", "--recipe", "grop"]) == 2
    assert "Did you mean 'grpo'?" in capsys.readouterr().err
    assert main(["lab", "oracle", "--markdown", "no/such/folder/x.md"]) == 2


def test_markdown(tmp_path, capsys) -> None:
    target = tmp_path / "table.md"
    assert main(["lab", "oracle", "--quick", "--recipe", "gspo", "--markdown", str(target)]) == 0
    assert capsys.readouterr().err == f"table written to {target}\n"
    lines = target.read_text().splitlines()
    assert lines[0] == "<!-- table -->" and lines[2] == "### recipes"
    columns = lines[4].replace("\\|", "").count("|")
    assert all(line.replace("\\|", "").count("|") == columns for line in lines if line[:1] == "|")


def test_the_table_in_the_docs_has_the_rows_of_today() -> None:
    """`evenodds lab oracle --markdown docs/oracle.md` writes it again."""
    page = (Path(__file__).parents[2] / "docs" / "oracle.md").read_text(encoding="utf-8")
    above, table = page.split("<!-- table -->")
    rows = [line for line in table.splitlines() if line.endswith((" ok |", " FAILS |"))]
    today = list(cases())
    assert len(rows) == len(today) and not [row for row in rows if "FAILS" in row]
    for row, case in zip(rows, today, strict=True):
        policy = "table" if case.world.name == "tabular" else case.world.name
        sizes = "+".join(map(str, case.sizes))
        assert row.startswith(f"| {case.name} | {policy} | {case.world.where} | {sizes} |")
        assert case.says.replace("|", "\\|") in row
    assert "## Derivations" in above


def test_what_stands_above_the_table_is_kept(tmp_path, capsys) -> None:
    target = tmp_path / "page.md"
    target.write_text("# Words\n\n<!-- table -->\n\nbefore\n")
    assert main(["lab", "oracle", "--quick", "--recipe", "rloo", "--markdown", str(target)]) == 0
    assert target.read_text().startswith("# Words\n\n<!-- table -->\n\n### recipes\n")
    assert "before" not in target.read_text()


def test_a_table_in_a_new_file_is_replaced_by_the_next(tmp_path, capsys) -> None:
    target = tmp_path / "table.md"
    for recipe in ("gspo", "rloo"):
        assert (
            main(["lab", "oracle", "--quick", "--recipe", recipe, "--markdown", str(target)]) == 0
        )
    text = target.read_text()
    assert text.count("<!-- table -->") == 1 and "| rloo |" in text and "gspo" not in text


def test_markdown_writes_over_nothing_else(tmp_path, capsys) -> None:
    """Text without a mark, though it may speak of one, is left alone; a folder is no file."""
    page = tmp_path / "page.md"
    page.write_text("a line <!-- table --> marks the table\n")
    for target, what in ((page, "would be lost"), (tmp_path, "Got the folder")):
        assert main(["lab", "oracle", "--quick", "--markdown", str(target)]) == 2
        captured = capsys.readouterr()
        assert what in captured.err and captured.err.count("\n") == 1 and not captured.out
    assert page.read_text() == "a line <!-- table --> marks the table\n"


def test_markdown_that_cannot_be_written_is_one_line(tmp_path, capsys, monkeypatch) -> None:
    def full(*_, **__) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    words = ["lab", "oracle", "--quick", "--recipe", "rloo", "--markdown", str(tmp_path / "t.md")]
    assert main(words) == 1
    err = capsys.readouterr().err
    assert "No space left on device" in err and err.count("\n") == 1


def test_a_terminal_gets_colours() -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    rows = [check(next(cases("dr_grpo", quick=True)))]
    screen = Screen()
    printed(rows, screen)
    assert "dr_grpo" in screen.getvalue()
    assert "\x1b[" in screen.getvalue()
    assert markdown(rows).count("\n") == 5


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_the_table_fits_the_terminal(columns: int, monkeypatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [check(case) for case in cases(quick=True) if case.name in ("grpo", "k1 per answer")]
    screen, file = Screen(), io.StringIO()
    printed(rows, screen)
    printed(rows, file)
    narrow = file.getvalue().splitlines()
    assert max(map(len, narrow)) <= columns and all(line == line.rstrip() for line in narrow)
    monkeypatch.delenv("COLUMNS")
    file = io.StringIO()
    printed(rows, file)
    lines = re.sub(r" *\x1b\[[0-9;]*m *$|\x1b\[[0-9;]*m", "", screen.getvalue(), flags=re.M)
    lines = [line.rstrip() for line in lines.splitlines()]
    assert max(map(len, lines)) <= columns
    assert ("|aim|" in lines[1] or "|aim|" in lines[0]) == (columns == 160)
    if columns == 100:
        at = next(n for n, line in enumerate(lines) if line.startswith("grpo"))
        assert lines[at].endswith("ok") and lines[at + 1] == f"  {rows[0].case.says}"
        assert lines[-1].startswith("left out: |aim| and |E ĝ|")
    wide = file.getvalue().splitlines()
    assert all(line == line.rstrip() for line in wide)
    heading = wide[0]
    assert all(name in heading for name in ("|aim|", "E ĝ / aim", "documented bias"))
