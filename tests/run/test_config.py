"""Configuration: what is wrong is said in one line, and what is right comes back equal."""

from __future__ import annotations

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenodds.errors import UsageError
from evenodds.run.config import Config, fields, make_config, merge, read_saved, read_toml, to_toml


def test_defaults_are_accepted_and_every_setting_is_described() -> None:
    config = make_config({})
    assert config.policy.name == "abacus"
    assert all(info.description for info in fields().values())


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        ({"run": {"seeed": 1}}, ["'run.seeed'", "Did you mean 'run.seed'"]),
        ({"runn": {}}, ["'runn'", "Did you mean 'run'"]),
        ({"run": {"seed": "x"}}, ["run.seed", "'x'", "should be a whole number."]),
        ({"run": {"seed": -1}}, ["run.seed", "-1", "greater than or equal to 0"]),
        (
            {"sampling": {"temperature": 0}},
            ["sampling.temperature", "greater than or equal to 0.01"],
        ),
        ({"sampling": {"group_size": 1}}, ["sampling.group_size", "greater than or equal to 2"]),
        ({"curriculum": {"kind": "spiral"}}, ["curriculum.kind", "'ladder', 'uniform' or 'fixed'"]),
        ({"learner": {"learning_rate": float("nan")}}, ["learner.learning_rate"]),
        ({"run": 3}, ["run", "3", "should be a table."]),
        ({"run": {"seed": True}}, ["run.seed", "True", "a whole number"]),
        ({"run": {"steps": True}}, ["run.steps", "True", "a whole number"]),
        ({"sampling": {"temperature": True}}, ["sampling.temperature", "a number"]),
        ({"curriculum": {"levels": [True]}}, ["curriculum.levels", "a whole number"]),
        ({"evaluation": {"greedy": 1}}, ["evaluation.greedy", "1", "true or false"]),
        ({"evaluation": {"levels": []}}, ["evaluation.levels", "not empty"]),
        ({"curriculum": {"levels": []}}, ["curriculum.levels", "not empty"]),
        ({"run": {"name": ""}}, ["run.name", "not empty"]),
        ({"run": {"root": ""}}, ["run.root", "not empty"]),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_key(data, parts) -> None:
    with pytest.raises(UsageError) as caught:
        make_config(data)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("dotted", "most"),
    [
        ("objective.clip_high", 10**6),
        ("policy.rank", 4096),
        ("sampling.groups", 100_000),
        ("sampling.group_size", 10_000),
        ("sampling.max_tokens", 1_000_000),
        ("sampling.temperature", 100),
        ("evaluation.samples", 10_000),
        ("evaluation.problems", 100_000),
        ("task.held_out", 10_000),
        ("task.shots", 1000),
        ("learner.learning_rate", 10),
        ("learner.weight_decay", 10),
    ],
)
def test_a_number_has_an_upper_bound(dotted, most) -> None:
    make_config(merge({}, {dotted: most}))
    with pytest.raises(UsageError, match="less than or equal to"):
        make_config(merge({}, {dotted: most + 1}))


def test_texts_of_flags_are_still_numbers_and_truths() -> None:
    config = make_config({"run": {"seed": "1"}, "evaluation": {"greedy": "0"}})
    assert config.run.seed == 1 and config.evaluation.greedy is False


@pytest.mark.parametrize("text", ["", "[task]\n", "run = 3\n"])
def test_a_saved_config_without_its_run_table_is_damaged(tmp_path, text) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(UsageError, match="is damaged"):
        read_saved(tmp_path / "config.toml")


def test_files_that_are_missing_or_no_toml_are_said(tmp_path) -> None:
    with pytest.raises(UsageError, match="no config file"):
        read_toml(tmp_path / "none.toml")
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not readable TOML"):
        read_toml(bad)
    bad.write_text("[run\n")
    with pytest.raises(UsageError, match="not readable TOML"):
        read_toml(bad)


def test_a_data_file_means_the_task_data() -> None:
    assert make_config({"task": {"data": "d.jsonl"}}).task.name == "data"
    with pytest.raises(UsageError, match="Leave one out"):
        make_config({"task": {"data": "d.jsonl", "name": "addition"}})


def test_where_no_end_is_named_there_is_the_demonstrations() -> None:
    assert (make_config({}).run.steps, make_config({}).run.max_time) == (150, 115.0)
    assert make_config({"run": {"steps": 9}}).run.max_time is None
    assert make_config({"run": {"max_time": 9}}).run.steps is None


def test_flags_lie_over_a_file() -> None:
    data = merge({"run": {"seed": 1, "steps": 5}}, {"run.seed": "3", "policy.name": "p"})
    config = make_config(data)
    assert (config.run.seed, config.run.steps, config.policy.name) == (3, 5, "p")


@given(st.text(), st.floats(1, 1e9), st.integers(0, 2**40))
def test_toml_reads_back_equal(text, number, seed) -> None:
    config = make_config(
        {
            "run": {"seed": seed, "max_time": number},
            "policy": {"name": text.encode("utf-8", "ignore").decode() or "p"},
            "curriculum": {"levels": [1, 2]},
        }
    )
    assert make_config(tomllib.loads(to_toml(config))) == config


def test_a_commented_file_names_every_setting_and_reads_back() -> None:
    text = to_toml(Config(), comments=True)
    assert make_config(tomllib.loads(text)) == make_config({})
    for dotted in fields():
        assert dotted.split(".")[1] in text


def test_a_commented_file_is_valid_with_every_line_uncommented() -> None:
    own = make_config({"task": {"data": "d.jsonl"}})
    text = re.sub(r"(?m)^# (?=\w+ = )", "", to_toml(own, comments=True))
    data = tomllib.loads(text)
    make_config(data)
    assert [f"{section}.{name}" for section in data for name in data[section]] == [*fields()]


def test_a_commented_file_lists_the_choices() -> None:
    assert 'kind = "ladder"  # ladder | uniform | fixed: ' in to_toml(Config(), comments=True)


def test_text_that_a_config_file_could_not_hold_is_refused() -> None:
    with pytest.raises(UsageError, match=r"objective\.surrogate cannot be .* UTF-8"):
        make_config({"objective": {"surrogate": "m\udcff.py:f"}})


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("learner.beta3", "'learner.beta1' or 'learner.beta2'"),
        ("sampling.hrous", "'sampling.groups'"),
        ("evaluation.LEVELS", "'evaluation.levels'"),
        ("sampling.maxTokens", "'sampling.max_tokens'"),
        ("run.gruop_size", "'sampling.group_size'"),
        ("run.lr", "'learner.learning_rate'"),
    ],
)
def test_what_is_spelled_nearest_is_what_was_meant(word, meant) -> None:
    section, key = word.split(".")
    with pytest.raises(UsageError, match=re.escape(f"Did you mean {meant}?")):
        make_config({section: {key: 1}})


def test_a_word_that_is_near_to_none_gets_no_suggestion() -> None:
    with pytest.raises(UsageError) as caught:
        make_config({"run": {"zzzzzzzz": 1}})
    assert "Did you mean" not in str(caught.value)
