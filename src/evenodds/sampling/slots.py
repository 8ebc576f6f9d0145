"""Room for keys and values: a slot a row, allocated ahead, taken and given back without moving.

The rows in use are always the first ones. A row that leaves is replaced by the last, so that what
leaves costs the copy of one row and not of all, and what is read is one piece.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

STEP = 16  # columns in use are rounded up to this, so that shapes repeat
GROWTH = 64  # columns that are added at least where there are too few


class Slots:
    """For each layer a tensor [2, rows, kv heads, columns, head size]; 0 for keys, 1 for values.

    It is zero where nothing was written: what is masked must still be a number. Rows are allocated
    as they come; columns grow up to `most` in a few large steps, because most answers end long
    before they must. A row that is full writes its last place again.
    """

    def __init__(self, layers: int, heads: int, size: int, most: int, like: Tensor) -> None:
        self.most = most + -most % STEP
        self.rows, self.columns = 0, 0  # in use
        self.sizes = np.zeros(0, dtype=np.int64)  # tokens that each row holds
        self.stores = [like.new_zeros(2, 0, heads, 0, size) for _ in range(layers)]

    def layer(self, number: int) -> Float[Tensor, "2 r k c d"]:
        """The part in use of one layer: a view."""
        return self.stores[number][:, : self.rows, :, : self.columns]

    def flat(self, number: int) -> Float[Tensor, "2 n c d"]:
        """The same with rows and heads as one: n = rows * kv heads."""
        store = self.stores[number]
        heads = store.shape[2]
        every = store.view(2, -1, *store.shape[3:])
        return every[:, : self.rows * heads, : self.columns]

    def places(self, lengths: Int[Tensor, " r"]) -> Int[Tensor, " n"]:
        """Where the token behind each row goes: indices into a layer seen as [all, head size], of
        its key by row and head, then of its value."""
        _, rows, heads, columns, _ = self.stores[0].shape
        numbers = torch.arange(len(lengths) * heads, device=lengths.device)
        keys = numbers * columns + lengths.repeat_interleave(heads)
        return torch.cat((keys, keys + rows * heads * columns))

    def widen(self, columns: int) -> None:
        """Use at least so many columns."""
        self.columns = max(self.columns, columns + -columns % STEP)
        self._allocate(self.rows, self.columns)

    def grow(self) -> None:
        """Every row holds a token more. Only one that is over can be full: it is not dropped yet,
        and must not make all others wider."""
        self.sizes = (self.sizes + 1).clip(max=self.most - 1)

    def add(self, sizes: NDArray[np.int64], copies: int, fresh: list[Tensor]) -> None:
        """New rows behind the present ones: each row of `fresh` (by layer), `copies` times."""
        count = len(sizes) * copies
        self._allocate(self.rows + count, self.columns)
        for store, new in zip(self.stores, fresh, strict=True):
            place = store[:, self.rows : self.rows + count, :, : new.shape[3]]
            place.copy_(new.repeat_interleave(copies, dim=1))
            store[:, self.rows : self.rows + count, :, new.shape[3] :] = 0
        self.rows += count
        self.sizes = np.append(self.sizes, sizes.repeat(copies))

    def drop(self, gone: NDArray[np.int64]) -> NDArray[np.int64]:
        """Forget rows. Returns, for each row that is left, which one it was."""
        order = np.arange(self.rows)
        left = self.rows - len(gone)
        holes = gone[gone < left]
        movers = np.setdiff1d(order[left:], gone)
        order[holes] = movers
        for to, source in zip(holes.tolist(), movers.tolist(), strict=True):
            for number in range(len(self.stores)):
                layer = self.layer(number)
                layer[:, to] = layer[:, source]
        order = order[:left]
        self.sizes = self.sizes[order]
        self.rows = left
        return order

    def _allocate(self, rows: int, columns: int) -> None:
        """Room for so many rows and columns at least; one layer after the other, to save memory."""
        have_rows, have_columns = self.stores[0].shape[1], self.stores[0].shape[3]
        if rows <= have_rows and columns <= have_columns:
            return
        wide = have_columns
        if columns > have_columns:
            growth = max(GROWTH, have_columns // 4)
            wide = max(columns, min(have_columns + growth, self.most))
            wide += -wide % STEP
        padding = (0, 0, 0, wide - have_columns, 0, 0, 0, max(0, rows - have_rows))
        for number, store in enumerate(self.stores):
            self.stores[number] = functional.pad(store, padding)
