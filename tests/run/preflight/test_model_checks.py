"""Each mistake of a model is named by its check, and a sound model by none."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import replace
from functools import wraps

import pytest
import torch

from evenodds.domain import Group, Status, Stop, Verdict
from evenodds.policies.codec import Codec
from evenodds.run.preflight import neutral
from evenodds.run.preflight.checks import CHECKS, examine
from evenodds.run.preflight.ground import Probe
from evenodds.sampling import native
from tests.run.preflight.broken import CHAT, bytes_policy, ground_of, look
from tests.tiny import make_lora, make_policy, make_rollout

OWN = [
    "end_token", "pad_token", "stop_strings", "first_token", "marks", "template", "end_of_turn",
    "thinking", "answer_fits", "weights", "tied", "learns", "rounding", "dropout", "ratio",
    "positions", "generation_config", "distribution", "unnamed_tokens", "ratio_after_update",
    "ends",
]  # fmt: skip


def with_probe(ground):
    return replace(ground, probe=Probe((), 1.0))


def bad(findings):
    return [f for f in findings if f.name in OWN and f.level not in ("fine",)]


@pytest.mark.parametrize("family", ["qwen3", "llama", "qwen2", "gpt2", "gemma2"])
def test_nothing_is_found_in_a_sound_model(family):
    ground = ground_of(make_policy(family))
    found = [*examine(ground, "start"), *examine(with_probe(ground), "probe")]
    assert not bad(found), bad(found)
    assert {"ratio", "positions", "distribution", "dropout"} <= {f.name for f in found}


@pytest.mark.parametrize("style", ["chat", "few_shot"])
@pytest.mark.parametrize("begins", [False, True])
def test_nothing_is_found_in_a_sound_chat_model(style, begins):
    template = "<s>" + CHAT if begins else CHAT
    found = examine(ground_of(bytes_policy(template, begins=begins), task__style=style), "start")
    assert not bad(found), bad(found)


def test_a_warm_adapter_is_sound_and_what_is_tried_on_it_leaves_no_trace():
    policy = make_lora(make_policy("llama"))
    ground = ground_of(policy)

    def bits():
        blobs = {n: p.detach().numpy().tobytes() for n, p in policy.model.named_parameters()}
        return {n: hashlib.sha256(blob).hexdigest() for n, blob in blobs.items()}

    before, version = bits(), ground.made.sampler.version
    drawn = [r.ids.tolist() for r in ground.trial.rollouts]
    found = [*examine(ground, "start"), *examine(with_probe(ground), "probe")]
    assert not bad(found), bad(found)
    assert bits() == before
    assert ground.made.sampler.version == version
    assert all(p.grad is None for p in policy.model.parameters())
    again = replace(ground)
    assert [r.ids.tolist() for r in again.trial.rollouts] == drawn


def test_no_end_token():
    policy = bytes_policy(CHAT, eos=None, eos_token_id=None)
    found = look("end_token", policy, task__style="chat")
    assert found.level == "fatal" and "no token ends" in found.what
    assert look("end_token", policy, task__style="few_shot").level == "warning"  # its \n ends one


def test_an_end_token_that_the_model_does_not_know():
    found = look("end_token", bytes_policy(CHAT, eos=None, eos_token_id=9999), task__style="chat")
    assert found.level == "fatal" and "9999" in found.what


def test_files_that_disagree_on_the_end():
    policy = bytes_policy(CHAT, eos="<|end|>", eos_token_id=3)
    found = look("end_token", policy, task__style="chat")
    assert found.level == "warning"
    assert "'<|end|>' (1)" in found.what and "'<|im_end|>' (3)" in found.what
    several = bytes_policy(CHAT, eos="<|im_end|>", eos_token_id=[3, 1])
    assert look("end_token", several, task__style="chat").level == "fine"  # as Qwen does it


def test_padding_outside_of_the_vocabulary():
    policy = bytes_policy(family="GPT2", vocab_size=261)
    policy.codec.tokenizer.add_special_tokens({"pad_token": "<|new|>"})
    found = look("pad_token", policy)
    assert found.level == "fatal" and "261" in found.what


def test_padding_that_is_the_end_token_does_no_harm_and_is_told():
    policy = bytes_policy(CHAT, pad_token="<|im_end|>")
    found = look("pad_token", policy, task__style="chat")
    assert found.level == "fine" and "one" in found.what
    assert look("ratio", policy, task__style="chat").level == "fine"


def test_a_stop_string_that_cuts_right_answers(monkeypatch):
    ground = ground_of(bytes_policy())
    monkeypatch.setattr(type(ground.plan.task), "stop_strings", ("1", "2", "3", "4", "5"))
    found = CHECKS["stop_strings"].look(ground)
    assert found.level == "fatal" and "right answers" in found.what


def test_a_stop_string_that_was_asked_for_is_the_one_to_leave_out():
    found = look("stop_strings", bytes_policy(), sampling__stop=("7", "8", "9"))
    assert found.level == "fatal" and found.change == "--sampling.stop without it"
    assert look("stop_strings", bytes_policy(), sampling__stop=("</answer>",)).level == "fine"


def test_a_stop_string_without_tokens_where_nothing_else_ends():
    policy = make_policy()
    assert look("stop_strings", policy).level == "fine"  # its end token does
    endless = replace(policy, codec=Codec(policy.codec.tokenizer, frozenset()))
    assert look("stop_strings", endless).level == "fatal"


def test_a_template_that_does_not_end_an_answer_as_the_model_does():
    found = look("end_of_turn", bytes_policy(CHAT, eos="<|end|>"), task__style="chat")
    assert found.level == "warning"
    assert "'<|im_end|>' (3)" in found.what and "[1, 3]" in found.change


def test_a_template_that_writes_a_prompt_otherwise_than_a_conversation():
    odd = CHAT.replace("<|im_start|>assistant\n{% endif", "<|im_start|>bot\n{% endif")
    found = look("template", bytes_policy(odd), task__style="chat")
    assert found.level == "warning" and "bot" in found.what
    without = CHAT.replace("{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}", "")
    assert look("template", bytes_policy(without), task__style="chat").level == "fine"
    lost = without.replace("{{ m['content'] }}", "")
    assert look("template", bytes_policy(lost), task__style="chat").level == "warning"


def test_a_template_that_opens_a_thought():
    open_ = CHAT.replace("assistant\n{% endif", "assistant\n<think>\n{% endif")
    found = look("thinking", bytes_policy(open_), task__style="chat")
    assert found.level == "warning" and "96 tokens" in found.what
    assert look("template", bytes_policy(open_), task__style="chat").level == "fine"
    long = {"sampling__max_tokens": 2000}
    assert look("thinking", bytes_policy(open_), task__style="chat", **long).level == "fine"


def test_a_first_token_that_is_missing_or_doubled(monkeypatch):
    found = look("first_token", bytes_policy(CHAT, begins=True), task__style="chat")
    assert found.level == "warning" and "none" in found.what
    policy = bytes_policy(begins=True)
    ground = ground_of(policy)
    prompt = ground.plan.task.held_out(0)[0]
    twice = replace(prompt, prompt="<s>" + prompt.prompt)
    monkeypatch.setattr(type(ground.plan.task), "held_out", lambda self, level: (twice,))
    found = CHECKS["first_token"].look(ground)
    assert found.level == "warning" and "twice" in found.what


def test_marks_of_another_models_template(monkeypatch):
    ground = ground_of(bytes_policy())
    prompt = ground.plan.task.held_out(0)[0]
    for text, level in (("[INST] 1*2= [/INST]", "warning"), ("<|im_start|>user\n1*2=", "fine")):
        other = replace(prompt, prompt=text)
        monkeypatch.setattr(type(ground.plan.task), "held_out", lambda s, n, o=other: (o,))
        assert CHECKS["marks"].look(ground).level == level


def test_a_budget_that_holds_no_right_answer():
    found = look("answer_fits", bytes_policy(), sampling__max_tokens=5)
    assert found.level == "warning" and "5 tokens" in found.what
    assert look("answer_fits", bytes_policy(), sampling__max_tokens=1).level == "fatal"


def test_what_a_function_of_ones_own_takes_for_right_is_not_guessed(monkeypatch):
    ground = ground_of(bytes_policy(), sampling__max_tokens=1)
    assert CHECKS["answer_fits"].look(ground) is not None
    monkeypatch.setattr(type(ground.plan.task), "verifier", staticmethod(len))
    assert CHECKS["answer_fits"].look(ground) is None


@pytest.mark.parametrize(("chi", "freedom", "wanted"), [(10.83, 1, 3.09), (149.4, 100, 3.09)])
def test_a_chi_square_as_standard_deviations(chi, freedom, wanted):
    """Both are met by chance once in a thousand, as 3.09 standard deviations are."""
    assert neutral._deviations(chi, freedom) == pytest.approx(wanted, abs=0.05)


def test_an_empty_head_and_an_empty_layer():
    policy = bytes_policy()
    with torch.no_grad():
        policy.model.model.layers[0].mlp.up_proj.weight.zero_()
    found = look("weights", policy)
    assert found.level == "warning" and "up_proj" in found.what
    with torch.no_grad():
        policy.model.lm_head.weight.zero_()
    assert look("weights", policy).level == "fatal"


def test_a_head_that_should_be_the_embedding():
    policy = bytes_policy(tie_word_embeddings=True)
    assert look("tied", policy).level == "fine"
    head = policy.model.lm_head
    head.weight = torch.nn.Parameter(head.weight.detach().clone())
    assert look("tied", policy).level == "warning"


def test_what_learns_is_not_what_should():
    policy = make_lora(make_policy("llama"))
    next(p for n, p in policy.model.named_parameters() if "lora" not in n).requires_grad_(True)
    found = look("learns", policy)
    assert found.level == "warning" and "beside the adapter" in found.what
    policy.model.requires_grad_(False)
    assert look("learns", policy).level == "fatal"


def test_steps_that_a_short_type_rounds_away():
    policy = bytes_policy()
    policy.model.to(torch.bfloat16)
    found = look("rounding", policy, learner__learning_rate=1e-6)
    assert found.level == "warning" and "bfloat16" in found.what
    assert look("rounding", policy, learner__learning_rate=0.1).level == "fine"


def test_dropout_in_a_config_is_off_and_told_and_what_stays_random_is_fatal():
    policy = bytes_policy(family="GPT2", attn_pdrop=0.1, resid_pdrop=0.2)
    found = look("dropout", policy)
    assert found.level == "fine" and "resid_pdrop 0.2" in found.what
    policy.model.train()
    found = look("dropout", policy)
    assert found.level == "fatal" and "second time" in found.what


def test_bfloat16_is_measured_and_its_gap_is_shown():
    policy = make_policy("llama")
    policy.model.to(torch.bfloat16)
    found = look("ratio", policy)
    assert found.level == "fine" and "bfloat16" in found.what
    assert float(found.what.split("differ by ")[1].split()[0]) > 1e-5


def bent(logits, uniforms, temperature):
    """A cut to the two likeliest tokens, and what it records is a softmax over these."""
    cut = logits.topk(2).values[:, -1:]
    return DRAW(logits.masked_fill(logits < cut, -torch.inf), uniforms, temperature)


def greedy(logits, uniforms, temperature):
    """Records what it should, and draws the likeliest token."""
    token = logits.argmax(-1)
    return token, (logits / temperature).log_softmax(-1).gather(-1, token[:, None])[:, 0]


DRAW = native.draw


def test_a_sampler_that_bends_the_distribution(monkeypatch):
    monkeypatch.setattr(native, "draw", bent)
    assert look("ratio", make_policy()).level == "fatal"
    found = look("distribution", make_policy())
    assert found.level == "fatal" and "plain softmax" in found.what
    monkeypatch.setattr(native, "draw", greedy)
    assert look("ratio", make_policy()).level == "fine"
    found = look("distribution", make_policy())
    assert found.level == "fatal" and "standard deviations" in found.what


BENDING = {
    "repetition_penalty": 1.3, "top_k": 2, "top_p": 0.5, "temperature": 0.1,
    "no_repeat_ngram_size": 2, "suppress_tokens": [5, 6, 7], "forced_bos_token_id": 9,
    "min_new_tokens": 50, "do_sample": False,
}  # fmt: skip


@pytest.mark.parametrize("family", ["qwen3", "gpt2"])
def test_a_generation_config_bends_nothing_and_is_told(family):
    plain, policy = ground_of(make_policy(family)), make_policy(family)
    for name, value in BENDING.items():
        setattr(policy.model.generation_config, name, value)
    ground = ground_of(policy)
    one, two = ([r.ids.tolist() for r in g.trial.rollouts] for g in (plain, ground))
    assert one == two
    assert CHECKS["distribution"].look(ground).level == "fine"
    found = CHECKS["generation_config"].look(ground)
    assert found.level == "fine"
    assert all(name in found.what for name in BENDING if name != "do_sample")


def test_an_embedding_with_more_rows_than_tokens():
    policy = bytes_policy(vocab_size=400)
    found = look("unnamed_tokens", policy)
    assert found.level == "warning" and "400" in found.what


def test_positions_that_depend_on_the_neighbours():
    policy = make_policy("gpt2")  # whose rows are padded
    backbone, true = policy.backbone, policy.backbone.forward

    @wraps(true)
    def forward(input_ids=None, **rest):
        """As if padding stood on the left: rows that are padded are counted from elsewhere."""
        padding = (input_ids == 0).sum(1, keepdim=True)
        if "position_ids" not in rest and padding.any():
            places = torch.arange(input_ids.shape[1])[None] - padding
            rest["position_ids"] = places.clamp(min=0)
        return true(input_ids=input_ids, **rest)

    backbone.forward = forward
    found = look("positions", policy)
    assert found.level == "fatal" and "padded" in found.what


def test_a_packed_line_with_wrong_positions(monkeypatch):
    from evenodds.policies import policy as module

    true = module.hidden_states

    def shifted(fused, cells, again):
        later = cells.positions + (cells.positions > 3)
        return true(fused, replace(cells, positions=later), again)

    monkeypatch.setattr(module, "hidden_states", shifted)
    found = look("positions", make_policy("llama"))
    assert found.level == "fatal" and "packed" in found.what
    assert look("ratio", make_policy("llama")).level == "fatal"


def test_a_sampler_that_keeps_old_weights(monkeypatch):
    ground = with_probe(ground_of(make_policy("gpt2")))
    sampler = ground.made.sampler
    sampler.decoder.policy = replace(sampler.policy, model=copy.deepcopy(sampler.policy.model))
    assert CHECKS["ratio"].look(ground).level == "fine"
    assert CHECKS["ratio_after_update"].look(ground).level == "fatal"


def test_an_update_that_changes_nothing(monkeypatch):
    ground = with_probe(ground_of(make_policy("gpt2")))
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda self, closure=None: None)
    found = CHECKS["ratio_after_update"].look(ground)
    assert found.level == "fatal" and "no log-probability" in found.what


def test_logits_that_are_not_finite():
    policy = make_policy("gpt2")
    with torch.no_grad():
        policy.model.lm_head.weight.mul_(1e38)
    found = look("ratio", policy)
    assert found.level == "fatal" and "not finite" in found.what


def test_a_policy_that_never_ends():
    policy = bytes_policy(family="GPT2", tie_word_embeddings=False)
    end = next(iter(policy.codec.stop_ids))
    with torch.no_grad():
        policy.model.transformer.ln_f.bias.fill_(1.0)
        policy.model.lm_head.weight[end] = -10.0
    ground = ground_of(policy)
    problem = ground.plan.task.held_out(0)[0]
    cut = [make_rollout(6, seed=n, stop=Stop.BUDGET) for n in range(4)]
    wrong = [Verdict(0.0, Status.TRUNCATED)] * 4
    asked = replace(ground, probe=Probe((Group(problem, cut, wrong),), 1.0))
    found = CHECKS["ends"].look(asked)
    assert found.level == "fatal" and "none of 4" in found.what
    paid = [Verdict(1.0, Status.RIGHT)] * 4
    asked = replace(ground, probe=Probe((Group(problem, cut, paid),), 1.0))
    assert CHECKS["ends"].look(asked).level == "warning"
    done = [replace(cut[0], stop=Stop.END_TOKEN), *cut[1:]]
    asked = replace(ground, probe=Probe((Group(problem, done, wrong),), 1.0))
    assert CHECKS["ends"].look(asked).level == "fine"
