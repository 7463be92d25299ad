"""Embedding: rows of a table, by their numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruda.errors import SettingError, ShapeError
from ruda.nn.init import Fans, Initializer, Normal, derive_seed
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.tensor import DType, HostDevice, Tensor

STANDARD = Normal(0.0, 1.0)


class Embedding(Module):
    """(…) whole numbers → (…, d_model). ``weight`` is (n_embedding, d_model), as in PyTorch."""

    def __init__(
        self, n_embedding: int, d_model: int, *, initializer: Initializer = STANDARD, seed: int = 0
    ) -> None:
        if n_embedding < 1 or d_model < 1:
            raise SettingError(f"Embedding needs positive sizes, got {n_embedding} and {d_model}")
        self.weight = Param(
            (n_embedding, d_model),
            initializer,
            fans=Fans(n_embedding, d_model),
            seed=derive_seed(seed, "weight"),
        )

    def forward(self, x: Tensor) -> Tensor:
        """The rows, in f32, or f64 where the table is f64.

        Raises DTypeError unless the numbers are integers, ShapeError for a number of no row.
        """
        if not x.dtype.is_integer:
            raise self.dtype_error("whole numbers", x.dtype, "cast them to i64 first")
        numbers = x.numpy()
        rows = self.weight.shape[0]
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < rows):
            wrong = numbers[(numbers < 0) | (numbers >= rows)].flat[0]
            raise ShapeError(f"{self.place()}: there is no row {wrong}; the table has {rows} rows")
        table = self.weight.value()
        if not table.dtype.is_float:
            raise self.dtype_error("float parameters", table.dtype, "load float weights")
        taken = Tensor.from_data(np.take(table.numpy(), numbers.astype(np.int64), axis=0))
        return taken if taken.dtype is DType.F64 else taken.cast(DType.F32)


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """Settings of an Embedding."""

    n_embedding: int
    d_model: int
    initializer: Initializer = STANDARD

    def init(self, device: HostDevice, *, seed: int = 0) -> Embedding:
        """A new layer; its values are drawn from the seed when first needed."""
        return Embedding(self.n_embedding, self.d_model, initializer=self.initializer, seed=seed)
