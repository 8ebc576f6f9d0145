"""What a configuration will do, before it runs: the numbers behind `evenodds explain`."""

from evenodds.lab.explain.example import Asked, default_example, example_group, explained
from evenodds.lab.explain.picture import svg_of

__all__ = ["Asked", "default_example", "example_group", "explained", "svg_of"]
