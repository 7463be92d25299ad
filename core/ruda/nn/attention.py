"""MultiHeadAttention: every position looks at every other, several heads at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import ModelError, SettingError
from ruda.nn.init import DEFAULT, Initializer, derive_seed
from ruda.nn.linear import Linear
from ruda.nn.module import Module
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]


class MultiHeadAttention(Module):
    """softmax(Q · Kᵀ / √d_head) · V for each head, then a Linear over all heads.

    ``query``, ``key``, ``value`` and ``output`` are Linear layers (d_model, d_model). PyTorch
    keeps the first three as one matrix ``in_proj_weight``, and calls the last ``out_proj``.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        dropout: float = 0.1,
        min_float: float = -1e4,
        quiet_softmax: bool = False,
        bias: bool = True,
        initializer: Initializer = DEFAULT,
        seed: int = 0,
    ) -> None:
        if d_model < 1 or n_heads < 1 or d_model % n_heads:
            raise SettingError(f"a width of {d_model} does not divide by {n_heads} heads")
        if not 0.0 <= dropout <= 1.0:
            raise SettingError(f"dropout is a probability from 0 to 1, got {dropout}")
        for name in ("query", "key", "value", "output"):
            layer = Linear(
                d_model,
                d_model,
                bias=bias,
                initializer=initializer,
                seed=derive_seed(seed, name),
            )
            setattr(self, name, layer)
        self.d_model = d_model
        self.n_heads = n_heads
        self.dropout = dropout
        self.min_float = min_float
        self.quiet_softmax = quiet_softmax

    query: Linear
    key: Linear
    value: Linear
    output: Linear

    def forward(self, x: Tensor) -> Tensor:
        """Self-attention: (batch, time, d_model) of the same shape. Raises as ``attend``."""
        return self.attend(x, x, x)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask_pad: Array | None = None,
        mask_attn: Array | None = None,
    ) -> Tensor:
        """(batch, time, d_model), with keys and values of a length of their own.

        True in a mask hides: ``mask_pad`` is (batch, key time), ``mask_attn`` (time, key time) or
        (batch, time, key time). Raises ShapeError and DTypeError naming the layer, ModelError in
        training mode.
        """
        if self.training and self.dropout:
            raise ModelError(f"{self.place()}: dropout does not run; call model.eval()")
        for given in (query, key, value):
            if given.rank != 3 or given.shape[-1] != self.d_model:
                raise self.shape_error(f"[batch, time, {self.d_model}]", given.shape)
        q, k, v = (
            self._heads(layer(given))
            for layer, given in ((self.query, query), (self.key, key), (self.value, value))
        )
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            scores = np.matmul(q, k.transpose(0, 1, 3, 2))
            scores /= scores.dtype.type(math.sqrt(self.d_model // self.n_heads))
            if mask_pad is not None:
                scores[np.broadcast_to(mask_pad[:, None, None, :], scores.shape)] = self.min_float
            if mask_attn is not None:
                hidden = mask_attn[:, None] if mask_attn.ndim == 3 else mask_attn
                scores[np.broadcast_to(hidden, scores.shape)] = self.min_float
            context = np.matmul(softmax(scores, quiet=self.quiet_softmax), v)
        joined = np.ascontiguousarray(context.transpose(0, 2, 1, 3)).reshape(query.shape)
        return self.output(Tensor(joined))

    def _heads(self, x: Tensor) -> Array:
        """(batch, time, d_model) → (batch, head, time, d_head)."""
        batch, time, _ = x.shape
        return x.numpy().reshape(batch, time, self.n_heads, -1).transpose(0, 2, 1, 3)


@dataclass(frozen=True, slots=True)
class MultiHeadAttentionConfig:
    """Settings of a MultiHeadAttention."""

    d_model: int
    n_heads: int
    dropout: float = 0.1
    min_float: float = -1e4
    quiet_softmax: bool = False
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: HostDevice, *, seed: int = 0) -> MultiHeadAttention:
        """A new layer; its values are drawn from the seed when first needed."""
        return MultiHeadAttention(
            self.d_model,
            self.n_heads,
            dropout=self.dropout,
            min_float=self.min_float,
            quiet_softmax=self.quiet_softmax,
            bias=self.bias,
            initializer=self.initializer,
            seed=seed,
        )


def softmax(scores: Array, *, quiet: bool = False) -> Array:
    """exp(x) / Σ exp(x) along the last axis; with ``quiet`` the sum has one more, exp(0)."""
    if scores.dtype == np.float32 and not quiet:
        return _kernels.softmax(scores)
    top = scores.max(axis=-1, keepdims=True)
    if quiet:
        top = np.maximum(top, top.dtype.type(0))
    result: Array = np.exp(scores - top)
    total = result.sum(axis=-1, keepdims=True)
    if quiet:
        total += np.exp(-top)
    result /= total
    return result
