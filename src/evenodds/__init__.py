"""evenodds: teach a language model a skill that a program can check, and prove that it learned."""

__version__ = "0.1.0"
