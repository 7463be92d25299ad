"""Rotary encoding of positions, and the attention of models that use it."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import SettingError
from ruda.nn.attention import softmax
from ruda.nn.init import DEFAULT, Initializer, derive_seed
from ruda.nn.linear import Linear
from ruda.nn.module import Module
from ruda.nn.norm import RmsNorm
from ruda.nn.precision import working_input
from ruda.tensor import Tensor

Array = np.ndarray[Any, Any]

_HEADS = "([1-9][0-9]{0,8})"
_KIND = re.compile(rf"RotaryAttention\({_HEADS},{_HEADS}\)")
"""Kinds also come from descriptions that strangers write: 0 heads, or digits without an end."""


class RotaryEncoding(Module):
    """Turns the adjacent pairs (2i, 2i + 1) of a vector by position · theta^(-2i / width).

    Meta's layout. Hugging Face's files have the pairs (i, i + width / 2): see ``rope-to-pairs``.
    The angles are computed, and no file holds them.
    """

    def __init__(self, width: int, *, theta: float = 10_000.0) -> None:
        if width < 2 or width % 2:
            raise SettingError(f"a rotary encoding needs an even width, got {width}")
        self._width = width
        self._theta = theta

    def forward(self, x: Tensor) -> Tensor:
        """(…, time, width) of the same shape, at positions from 0."""
        return Tensor(self.rotated(working_input(self, x)))

    def rotated(self, x: Array, *, start: int = 0) -> Array:
        """As ``forward``, with the first position at ``start``. Raises ShapeError."""
        if x.ndim < 2 or x.shape[-1] != self._width:
            raise self.shape_error(f"[…, time, {self._width}]", x.shape)
        half = np.arange(0, self._width, 2, dtype=np.float64)
        positions = np.arange(start, start + x.shape[-2], dtype=np.float64)
        angles = np.outer(positions, self._theta ** (-half / self._width))
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        if x.dtype == np.float32:
            return _kernels.rotate_pairs(x, cos, sin)
        even, odd = x[..., 0::2], x[..., 1::2]
        result: Array = np.empty_like(x)
        result[..., 0::2] = even * cos - odd * sin
        result[..., 1::2] = even * sin + odd * cos
        return result


class RotaryAttention(Module):
    """Attention to earlier positions, with rotary encoding and keys that several queries share.

    ``wq`` is (d_model, n_heads · head_dim), ``wk`` and ``wv`` (d_model, n_kv_heads · head_dim),
    ``wo`` the way back; ``bias`` is for the first three (Qwen2). With ``qk_norm`` every head of
    queries and keys has an RmsNorm (Qwen3). Names and layout are those of Meta's files.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        *,
        head_dim: int | None = None,
        theta: float = 10_000.0,
        bias: bool = False,
        qk_norm: bool = False,
        epsilon: float = 1e-5,
        initializer: Initializer = DEFAULT,
        seed: int = 0,
    ) -> None:
        if n_heads < 1 or n_kv_heads < 1 or n_heads % n_kv_heads:
            raise SettingError(f"{n_heads} heads do not divide by {n_kv_heads} heads of keys")
        if head_dim is None and d_model % n_heads:
            raise SettingError(f"a width of {d_model} does not divide by {n_heads} heads")
        width = d_model // n_heads if head_dim is None else head_dim
        self._heads = (n_heads, n_kv_heads)
        outputs = {"wq": n_heads, "wk": n_kv_heads, "wv": n_kv_heads}
        for name, heads in outputs.items():
            projection = Linear(
                d_model,
                heads * width,
                bias=bias,
                initializer=initializer,
                seed=derive_seed(seed, name),
            )
            setattr(self, name, projection)
        self.wo = Linear(
            n_heads * width,
            d_model,
            bias=False,
            initializer=initializer,
            seed=derive_seed(seed, "wo"),
        )
        self.q_norm = RmsNorm(width, epsilon=epsilon) if qk_norm else None
        self.k_norm = RmsNorm(width, epsilon=epsilon) if qk_norm else None
        self._rotary = RotaryEncoding(width, theta=theta)

    wq: Linear
    wk: Linear
    wv: Linear

    @property
    def struct_name(self) -> str:
        """The class name with the heads: adapters need them, and no shape in a file says them."""
        return f"{type(self).__name__}({self._heads[0]},{self._heads[1]})"

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, d_model) of the same shape. Raises ShapeError and DTypeError."""
        if x.rank != 3:
            raise self.shape_error(f"[batch, time, {self.wq.weight.shape[0]}]", x.shape)
        heads, shared = self._heads
        q, k = self._split(self.wq(x), heads), self._split(self.wk(x), shared)
        v = self._split(self.wv(x), shared).numpy()
        q = self.q_norm(q) if self.q_norm is not None else q
        k = self.k_norm(k) if self.k_norm is not None else k
        context = _causal(self._rotary.rotated(q.numpy()), self._rotary.rotated(k.numpy()), v)
        joined = np.ascontiguousarray(context.transpose(0, 2, 1, 3))
        return self.wo(Tensor(joined.reshape(*x.shape[:2], -1)))

    @staticmethod
    def _split(x: Tensor, heads: int) -> Tensor:
        """(batch, time, heads · width) → (batch, head, time, width)."""
        batch, time, _ = x.shape
        return Tensor(
            np.ascontiguousarray(x.numpy().reshape(batch, time, heads, -1).transpose(0, 2, 1, 3))
        )


def heads_of(kind: str) -> tuple[int, int] | None:
    """Heads of queries and of keys that the kind of a module says; None where it says none."""
    found = _KIND.fullmatch(kind)
    return None if found is None else (int(found[1]), int(found[2]))


def _causal(q: Array, k: Array, v: Array) -> Array:
    """(batch, head, time, width) of q; k and v have as many heads, or fewer that are shared."""
    batch, heads, time, width = q.shape
    shared = k.shape[1]
    grouped = q.reshape(batch, shared, heads // shared, time, width)
    hidden = np.triu(np.ones((time, time), dtype=bool), 1)
    with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
        scores = np.matmul(grouped, k[:, :, None].transpose(0, 1, 2, 4, 3))
        scores *= scores.dtype.type(1 / math.sqrt(width))
        scores[..., hidden] = -np.inf
        found: Array = np.matmul(softmax(scores), v[:, :, None])
    return found.reshape(batch, heads, time, width)
