"""How a problem is put to a model: bare, after worked examples, or as a chat message."""

from __future__ import annotations

from collections.abc import Sequence

from evenodds.domain import Message


def stop_strings(style: str) -> tuple[str, ...]:
    """Where a completion ends: plain prompts hold one problem a line, a chat has its end token."""
    return () if style == "chat" else ("\n",)


def user_message(content: str) -> tuple[Message, ...]:
    """A conversation of one message."""
    return (Message(role="user", content=content),)


def example_lines(examples: Sequence[tuple[str, str]], separator: str = "\n") -> str:
    """Worked examples, each a question with its answer behind it, ready to stand before another."""
    return "".join(f"{question} {answer}{separator}" for question, answer in examples)


def question_line(question: str) -> str:
    """A question with the word behind which its answer is written, among worked examples."""
    return f"Question: {question}\nAnswer:"
