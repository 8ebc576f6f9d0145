"""Ours as a reward function of TRL: what it is called with, and what it gives back."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import evenodds
from evenodds.errors import UsageError
from evenodds.judge import JudgeOptions
from evenodds.judge.trl import trl_reward

QUICK = JudgeOptions(workers=2, seconds=0.3)


def chat(text: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": text}]


def test_it_scores_texts_and_chats() -> None:
    reward = evenodds.trl_reward("number")
    assert reward.__name__ == "number"
    state = {"trainer_state": object(), "log_extra": print, "completion_ids": [[1], [2], [3]]}
    given = {"answer": ["42", "6", "x"], **state}
    assert reward(prompts=["a", "b", "c"], completions=["42", "7", "8"], **given) == [1, 0, None]
    parts = chat([{"type": "text", "text": "The answer is "}, {"type": "text", "text": "42"}])
    completions = [chat("It is 42."), chat("7"), parts]
    prompts = [[{"role": "user", "content": "a"}]] * 3
    solution = {"solution": [42, 6, 42]}
    assert reward(prompts=prompts, completions=completions, **solution) == [1, 0, 1]


def test_policy_columns_and_messages() -> None:
    reward = trl_reward("number", {"order": ["box"]})
    assert reward(prompts=["a", "a"], completions=["42", "\\boxed{42}"], answer=["42"] * 2) == [
        0,
        1,
    ]
    with pytest.raises(UsageError, match="no gold answers"):
        reward(prompts=["a"], completions=["42"], gold=["42"])


def test_it_can_be_pickled(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def grade(problem, text): return problem.columns['w'] == text"
    )
    for reward, name in [
        (trl_reward("number"), "number"),
        (trl_reward(f"{tmp_path}/mine.py:grade"), "grade"),
    ]:
        again = pickle.loads(pickle.dumps(reward))
        assert again.__name__ == name
        assert again(prompts=["p"], completions=["42"], answer=["42"], w=["42"]) == [1.0]


@pytest.mark.skipif(sys.platform != "linux", reason="judges a closure inline there")
def test_a_function_that_hangs_gives_none_in_time() -> None:
    def grade(problem: Any, text: str) -> bool:
        while text == "hang":
            pass
        return text == problem.answer

    reward = trl_reward(grade, options=QUICK)
    assert reward.__name__ == "grade"
    started = time.monotonic()
    texts = ["42", "hang", "41"]
    assert reward(prompts=["p"] * 3, completions=texts, answer=["42"] * 3) == [1.0, None, 0.0]
    assert time.monotonic() - started < 5


@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs TRL")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(300)
def test_trls_trainer_takes_a_step_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a reward of TRL's own; every value in its log is what we pay."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from evenodds.lab.abacus_model import make_tokenizer
    from tests.tiny import make_hf

    paid: list[list[float | None]] = []
    reward = trl_reward(lambda problem, text: float(problem.columns["bonus"]), options=QUICK)  # type: ignore[arg-type, return-value]
    reward.__name__ = "ours"

    class Watched:
        __name__ = "ours"

        def __call__(self, **given: Any) -> list[float | None]:
            paid.append(reward(**given))
            return paid[-1]

    trainer = GRPOTrainer(
        model=make_hf("qwen2"),
        processing_class=make_tokenizer(),
        reward_funcs=[trl_reward("number"), Watched()],
        train_dataset=Dataset.from_list(
            [{"prompt": f"{n}*2=", "answer": str(2 * n), "bonus": n % 2} for n in range(1, 5)]
        ),
        args=GRPOConfig(
            output_dir=str(tmp_path),
            report_to="none",
            use_cpu=True,
            bf16=False,
            max_steps=1,
            logging_steps=1,
            max_completion_length=4,
            num_generations=2,
            per_device_train_batch_size=4,
        ),
    )
    trainer.train()
    logged = trainer.state.log_history[0]
    values = [value for value in paid[0] if value is not None]
    assert len(values) == 4
    assert logged["rewards/ours/mean"] == pytest.approx(sum(values) / 4)
    assert 0 <= logged["rewards/number/mean"] <= 1
