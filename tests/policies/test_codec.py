"""Text that cannot become tokens: one line each."""

from __future__ import annotations

import pytest

from evenodds.errors import UsageError
from tests.tiny import make_policy

TURN = ({"role": "user", "content": "1+1="},)


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no system role') }}",
        "{{ x.y.z }}",
        "{% for %}",
        "{{ ''.__class__.mro() }}",
    ],
)
def test_a_chat_template_that_raises_is_told(template) -> None:
    codec = make_policy().codec
    codec.tokenizer.chat_template = template
    with pytest.raises(UsageError, match=r"template cannot be used: .* Use --task\.style"):
        codec.render(TURN)


def test_half_a_character_is_told() -> None:
    codec = make_policy().codec
    for call in (codec.encode, codec.require_readable):
        with pytest.raises(UsageError, match="half a character at 2"):
            call("1+\ud800")


def test_a_small_alphabet_is_shown() -> None:
    with pytest.raises(UsageError, match=r"It knows # \* \+ 0 1 .* = ~ alone"):
        make_policy().codec.require_readable("12 x")
