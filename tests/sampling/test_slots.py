"""Slots against a plain list of rows."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from evenodds.sampling.slots import Slots


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.randoms()), max_size=8))
def test_rows_keep_their_content_wherever_they_move(turns) -> None:
    slots = Slots(layers=2, heads=2, size=4, most=40, like=torch.zeros(1))
    model: list[float] = []  # the value that each row was filled with
    for prompts, copies, random in turns:
        sizes = np.array([random.randint(1, 30) for _ in range(prompts)])
        fills = [float(random.randint(1, 99)) for _ in range(prompts)]
        slots.widen(int(sizes.max()))
        one = torch.tensor(fills)[None, :, None, None, None]
        fresh = [one.expand(2, prompts, 2, int(sizes.max()), 4) * (n + 1) for n in range(2)]
        slots.add(sizes, copies, fresh)
        model += [fill for fill in fills for _ in range(copies)]
        gone = np.array(sorted(random.sample(range(len(model)), random.randint(0, len(model)))))
        order = slots.drop(gone.astype(np.int64))
        model = [model[row] for row in order]
        assert slots.rows == len(model) == len(slots.sizes)
        for number in range(2):
            first = slots.layer(number)[:, :, :, 0]
            wanted = torch.tensor(model)[None, :, None, None] * (number + 1)
            assert torch.equal(first, wanted.expand_as(first))


def test_places_are_where_the_next_key_and_value_go() -> None:
    slots = Slots(layers=1, heads=2, size=3, most=64, like=torch.zeros(1))
    slots.widen(5)
    slots.add(np.array([2, 5]), 1, [torch.ones(2, 2, 2, 5, 3)])
    places = slots.places(torch.tensor([2, 5]))
    slots.stores[0].view(-1, 3).index_copy_(0, places, torch.full((8, 3), 7.0))
    keys, values = slots.layer(0)
    for held in (keys, values):
        assert (held[0, :, 2] == 7).all()
        assert (held[1, :, 5] == 7).all()
        assert int((held == 7).sum()) == 2 * 2 * 3


def test_what_was_never_written_is_zero_also_where_a_longer_row_was() -> None:
    slots = Slots(layers=1, heads=1, size=2, most=64, like=torch.zeros(1))
    slots.widen(20)
    slots.add(np.array([20]), 1, [torch.full((2, 1, 1, 20, 2), float("nan"))])
    slots.drop(np.array([0]))
    slots.add(np.array([3]), 1, [torch.ones(2, 1, 1, 3, 2)])
    assert torch.isfinite(slots.layer(0)).all()
