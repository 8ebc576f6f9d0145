"""A chat template is a program of a stranger: it ends, stays small, and reaches nothing."""

from __future__ import annotations

import copy
import resource
import time
from typing import Any

import pytest

from evenodds.domain import Message
from evenodds.errors import UsageError
from evenodds.lab.abacus_model import make_tokenizer
from evenodds.policies import chat_template
from evenodds.policies.chat_template import render_chat
from evenodds.policies.codec import Codec
from tests.hostile.templates import TEMPLATES

TALK: list[Message] = [
    Message(role="system", content="be <good> & kind"),
    Message(role="user", content="hi  there"),
    Message(role="assistant", content="<think>x</think>ok"),
    Message(role="user", content="äß\n"),
]
HONEST = {
    "plain": "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
    "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}",
    "thinking": """
{%- if tools %}{{- 'x' }}{%- elif messages[0].role == 'system' %}
  {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- set ns = namespace(multi=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
  {%- set index = (messages|length - 1) - loop.index0 %}
  {%- if ns.multi and message.role == "user" and message.content is string and not(
      message.content.startswith('<tool>') and message.content.endswith('</tool>')) %}
    {%- set ns.multi = false %}{%- set ns.last = index %}
  {%- endif %}
{%- endfor %}
{%- for message in messages %}
  {%- if message.role == "assistant" and '</think>' in message.content %}
    {%- set parts = message.content.split('</think>') %}
    {{- '<|im_start|>' + message.role + '\n' + parts[0].split('<think>')[-1].strip('\n') }}
  {%- else %}{{- '<|im_start|>' ~ message.role ~ '\n' ~ message.content }}{%- endif %}
  {%- if loop.last or (not loop.last and ns.last > 3) %}{{ loop.index }}{% endif %}
{%- endfor %}""",
    "filters": "{{ messages | tojson(indent=2) }} {{ {'a': 1} | tojson }} "
    "{{ '%s-%s'|format('a', 'b') }} {{ 'a{}b{:>4}'.format(3, 4) }} {{ 3 * 4 ** 2 % 5 + 1 }}"
    "{{ messages|map(attribute='role')|join(',') }} {{ bos_token }}{{ eos_token }}"
    "{{ messages|selectattr('role', 'equalto', 'user')|list|length }}"
    "{{ messages|rejectattr('role', 'in', ['tool', 'user'])|map(attribute='content')|join }}"
    "{{ ' a '|trim|upper|replace('A', 'b') }} {{ range(3)|list }} {{ dict(a=1) }} {{ 1.50 }}",
    "statements": "{%- macro m(x) %}[{{ x }}]{% endmacro %}{{ m('q') }}"
    "{% for k, v in messages[0].items() %}{{ k }}{% if k == 'role' %}{% continue %}{% endif %}"
    "{{ v }}{% endfor %}{%- generation %}abc{% endgeneration %}{{ none }}{{ missing }}{{ true }}"
    "{% set x %}kept {{ 1 }}{% endset %}{{ x }}{{ '=' * 20 }}{{ ['a'] + ['b'] }}",
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_template_says_what_transformers_makes_of_it(name: str) -> None:
    tokenizer = make_tokenizer()
    tokenizer.chat_template = HONEST[name]
    theirs = tokenizer.apply_chat_template(
        copy.deepcopy([dict(m) for m in TALK]), tokenize=False, add_generation_prompt=True
    )
    assert render_chat(HONEST[name], TALK, tokenizer.special_tokens_map) == theirs
    assert Codec(tokenizer, frozenset()).render(tuple(TALK)) == theirs


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_hostile_template_ends_soon_and_stays_small(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_template, "SECONDS", 0.2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.thread_time()
    tokenizer: Any = make_tokenizer()
    tokenizer.chat_template = TEMPLATES[name]
    codec = Codec(tokenizer, frozenset())
    with pytest.raises(UsageError, match="the chat template cannot be used") as caught:
        codec.render(tuple(TALK))
    assert "\n" not in str(caught.value)
    assert time.thread_time() - began < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024


def test_a_tokenizer_that_gives_up_is_one_line() -> None:
    """The library's own error is none that `except Exception` meets."""
    panic = type("PanicException", (BaseException,), {})

    class Tokenizer:
        def encode(self, text: str, add_special_tokens: bool) -> list[int]:
            raise panic("Onig: retry-limit-in-match over")

    with pytest.raises(UsageError, match="cannot read a text: Onig"):
        Codec(Tokenizer(), frozenset()).encode("aaaa")
