"""Transformer encoder and decoder layers, and stacks of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ruda.errors import SettingError
from ruda.nn.activation import Gelu, Relu
from ruda.nn.attention import MultiHeadAttention
from ruda.nn.init import DEFAULT, Initializer, derive_seed
from ruda.nn.linear import Linear
from ruda.nn.module import Module
from ruda.nn.norm import LayerNorm
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]

FeedForwardActivation: TypeAlias = Literal["gelu", "gelu_tanh", "relu"]
"""``gelu_tanh`` is Gelu by its approximation."""

NORM_FIRST = "(norm_first)"
"""Added to the kind of a layer that has its norms before attention and feed-forward."""


class PositionWiseFeedForward(Module):
    """outer(act(inner(x))); PyTorch calls the two ``linear1`` and ``linear2``."""

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: FeedForwardActivation = "gelu",
        bias: bool = True,
        initializer: Initializer = DEFAULT,
        seed: int = 0,
    ) -> None:
        if activation not in ("gelu", "gelu_tanh", "relu"):
            raise SettingError(f"activation is 'gelu', 'gelu_tanh' or 'relu', got {activation!r}")
        self.linear_inner = Linear(
            d_model,
            d_ff,
            bias=bias,
            initializer=initializer,
            seed=derive_seed(seed, "linear_inner"),
        )
        self.linear_outer = Linear(
            d_ff,
            d_model,
            bias=bias,
            initializer=initializer,
            seed=derive_seed(seed, "linear_outer"),
        )
        is_relu = activation == "relu"
        self.activation = Relu() if is_relu else Gelu(approximate=activation == "gelu_tanh")

    def forward(self, x: Tensor) -> Tensor:
        """(…, d_model) of the same shape. Raises ShapeError and DTypeError naming the layer."""
        return self.linear_outer(self.activation(self.linear_inner(x)))


@dataclass(frozen=True, slots=True)
class TransformerSettings:
    """Settings of one layer of a transformer; the layers of a stack have the same.

    Without ``bias`` no Linear and no norm of a layer has one, as in PyTorch.
    """

    d_model: int
    d_ff: int
    n_heads: int
    dropout: float = 0.1
    norm_first: bool = False
    quiet_softmax: bool = False
    layer_norm_eps: float = 1e-5
    activation: FeedForwardActivation = "gelu"
    initializer: Initializer = DEFAULT
    bias: bool = True

    def attention(self, seed: int) -> MultiHeadAttention:
        """The attention of a layer."""
        return MultiHeadAttention(
            self.d_model,
            self.n_heads,
            dropout=self.dropout,
            quiet_softmax=self.quiet_softmax,
            bias=self.bias,
            initializer=self.initializer,
            seed=seed,
        )

    def feed_forward(self, seed: int) -> PositionWiseFeedForward:
        """The feed-forward part of a layer."""
        return PositionWiseFeedForward(
            self.d_model,
            self.d_ff,
            activation=self.activation,
            bias=self.bias,
            initializer=self.initializer,
            seed=seed,
        )

    def norm(self) -> LayerNorm:
        """A norm of a layer."""
        return LayerNorm(self.d_model, epsilon=self.layer_norm_eps, bias=self.bias)


class _Layer(Module):
    _settings: TransformerSettings

    @property
    def struct_name(self) -> str:
        """The class name; norms first are told apart, as their norms have other places."""
        return type(self).__name__ + (NORM_FIRST if self._settings.norm_first else "")


class TransformerEncoderLayer(_Layer):
    """Self-attention and feed-forward, each with a norm and added to its input.

    ``norm_1`` comes after attention and ``norm_2`` after feed-forward. With ``norm_first``
    ``norm_2`` comes before attention and ``norm_1`` before feed-forward: the other way round than
    PyTorch's ``norm1`` and ``norm2``.
    """

    def __init__(self, settings: TransformerSettings, *, seed: int = 0) -> None:
        self._settings = settings
        self.mha = settings.attention(derive_seed(seed, "mha"))
        self.pwff = settings.feed_forward(derive_seed(seed, "pwff"))
        self.norm_1 = settings.norm()
        self.norm_2 = settings.norm()

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, d_model) of the same shape. Raises as the layers inside do."""
        return self.forward_masked(x)

    def forward_masked(
        self, x: Tensor, *, mask_pad: Array | None = None, mask_attn: Array | None = None
    ) -> Tensor:
        """As ``forward``; masks as in ``MultiHeadAttention.attend``."""
        first = self._settings.norm_first
        seen = self.norm_2(x) if first else x
        attended = self.mha.attend(seen, seen, seen, mask_pad=mask_pad, mask_attn=mask_attn)
        x = _added(x, attended)
        x = x if first else self.norm_1(x)
        x = _added(x, self.pwff(self.norm_1(x) if first else x))
        return x if first else self.norm_2(x)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory, and feed-forward, each with a norm and a sum.

    ``norm_1``, ``norm_2`` and ``norm_3`` come after them in this order. With ``norm_first``
    ``norm_3`` comes before self-attention, ``norm_1`` before attention to the memory and
    ``norm_2`` before feed-forward.
    """

    def __init__(self, settings: TransformerSettings, *, seed: int = 0) -> None:
        self._settings = settings
        self.cross_attn = settings.attention(derive_seed(seed, "cross_attn"))
        self.norm_1 = settings.norm()
        self.self_attn = settings.attention(derive_seed(seed, "self_attn"))
        self.norm_2 = settings.norm()
        self.pwff = settings.feed_forward(derive_seed(seed, "pwff"))
        self.norm_3 = settings.norm()

    def forward_with_memory(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        target_mask_pad: Array | None = None,
        target_mask_attn: Array | None = None,
        memory_mask_pad: Array | None = None,
        memory_mask_attn: Array | None = None,
    ) -> Tensor:
        """(batch, time, d_model) of the same shape; masks as in ``MultiHeadAttention.attend``."""
        first = self._settings.norm_first
        seen = self.norm_3(x) if first else x
        attended = self.self_attn.attend(
            seen, seen, seen, mask_pad=target_mask_pad, mask_attn=target_mask_attn
        )
        x = _added(x, attended)
        x = x if first else self.norm_1(x)
        seen = self.norm_1(x) if first else x
        attended = self.cross_attn.attend(
            seen, memory, memory, mask_pad=memory_mask_pad, mask_attn=memory_mask_attn
        )
        x = _added(x, attended)
        x = x if first else self.norm_2(x)
        x = _added(x, self.pwff(self.norm_2(x) if first else x))
        return x if first else self.norm_3(x)


class TransformerEncoder(Module):
    """Encoder layers one after the other; ``norm`` after the last is None unless asked for."""

    def __init__(
        self,
        settings: TransformerSettings,
        n_layers: int,
        *,
        final_norm: bool = False,
        seed: int = 0,
    ) -> None:
        _check_layers(n_layers)
        self.layers = [
            TransformerEncoderLayer(settings, seed=derive_seed(seed, f"layers.{at}"))
            for at in range(n_layers)
        ]
        self.norm = settings.norm() if final_norm else None

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, d_model) of the same shape. Raises as the layers inside do."""
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) if self.norm is not None else x

    def forward_masked(
        self, x: Tensor, *, mask_pad: Array | None = None, mask_attn: Array | None = None
    ) -> Tensor:
        """As ``forward``; masks as in ``MultiHeadAttention.attend``."""
        for layer in self.layers:
            x = layer.forward_masked(x, mask_pad=mask_pad, mask_attn=mask_attn)
        return self.norm(x) if self.norm is not None else x


class TransformerDecoder(Module):
    """Decoder layers one after the other, all looking at the same memory.

    ``norm`` after the last is None unless asked for.
    """

    def __init__(
        self,
        settings: TransformerSettings,
        n_layers: int,
        *,
        final_norm: bool = False,
        seed: int = 0,
    ) -> None:
        _check_layers(n_layers)
        self.layers = [
            TransformerDecoderLayer(settings, seed=derive_seed(seed, f"layers.{at}"))
            for at in range(n_layers)
        ]
        self.norm = settings.norm() if final_norm else None

    def forward_with_memory(self, x: Tensor, memory: Tensor, **masks: Array | None) -> Tensor:
        """(batch, time, d_model) of the same shape; masks as in the layer."""
        for layer in self.layers:
            x = layer.forward_with_memory(x, memory, **masks)
        return self.norm(x) if self.norm is not None else x


class Transformer(Module):
    """An encoder, and a decoder that looks at what the encoder made; a norm after each.

    ``encoder`` and ``decoder`` are as in PyTorch, ``encoder.norm`` and ``decoder.norm`` included.
    """

    def __init__(
        self,
        settings: TransformerSettings,
        n_encoder_layers: int,
        n_decoder_layers: int,
        *,
        seed: int = 0,
    ) -> None:
        self.encoder = TransformerEncoder(
            settings, n_encoder_layers, final_norm=True, seed=derive_seed(seed, "encoder")
        )
        self.decoder = TransformerDecoder(
            settings, n_decoder_layers, final_norm=True, seed=derive_seed(seed, "decoder")
        )

    def forward_with_source(
        self,
        x: Tensor,
        source: Tensor,
        *,
        source_mask_pad: Array | None = None,
        source_mask_attn: Array | None = None,
        **masks: Array | None,
    ) -> Tensor:
        """(batch, time, d_model) of the shape of ``x``, the target; ``source`` has its own time.

        Masks of the target and of the memory are those of ``TransformerDecoderLayer``; PyTorch
        takes the source first.
        """
        memory = self.encoder.forward_masked(
            source, mask_pad=source_mask_pad, mask_attn=source_mask_attn
        )
        return self.decoder.forward_with_memory(x, memory, **masks)


@dataclass(frozen=True, slots=True)
class TransformerEncoderConfig:
    """Settings of a TransformerEncoder."""

    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int
    dropout: float = 0.1
    norm_first: bool = False
    quiet_softmax: bool = False
    layer_norm_eps: float = 1e-5
    activation: FeedForwardActivation = "gelu"
    initializer: Initializer = DEFAULT
    bias: bool = True
    final_norm: bool = False

    def init(self, device: HostDevice, *, seed: int = 0) -> TransformerEncoder:
        """A new stack; its values are drawn from the seed when first needed."""
        return TransformerEncoder(
            _layer_settings(self), self.n_layers, final_norm=self.final_norm, seed=seed
        )


@dataclass(frozen=True, slots=True)
class TransformerDecoderConfig:
    """Settings of a TransformerDecoder."""

    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int
    dropout: float = 0.1
    norm_first: bool = False
    quiet_softmax: bool = False
    layer_norm_eps: float = 1e-5
    activation: FeedForwardActivation = "gelu"
    initializer: Initializer = DEFAULT
    bias: bool = True
    final_norm: bool = False

    def init(self, device: HostDevice, *, seed: int = 0) -> TransformerDecoder:
        """A new stack; its values are drawn from the seed when first needed."""
        return TransformerDecoder(
            _layer_settings(self), self.n_layers, final_norm=self.final_norm, seed=seed
        )


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """Settings of a Transformer."""

    d_model: int
    d_ff: int
    n_heads: int
    n_encoder_layers: int
    n_decoder_layers: int
    dropout: float = 0.1
    norm_first: bool = False
    quiet_softmax: bool = False
    layer_norm_eps: float = 1e-5
    activation: FeedForwardActivation = "gelu"
    initializer: Initializer = DEFAULT
    bias: bool = True

    def init(self, device: HostDevice, *, seed: int = 0) -> Transformer:
        """A new network; its values are drawn from the seed when first needed."""
        return Transformer(
            _layer_settings(self), self.n_encoder_layers, self.n_decoder_layers, seed=seed
        )


def _layer_settings(
    config: TransformerEncoderConfig | TransformerDecoderConfig | TransformerConfig,
) -> TransformerSettings:
    return TransformerSettings(
        config.d_model,
        config.d_ff,
        config.n_heads,
        config.dropout,
        config.norm_first,
        config.quiet_softmax,
        config.layer_norm_eps,
        config.activation,
        config.initializer,
        config.bias,
    )


def _check_layers(n_layers: int) -> None:
    if n_layers < 1:
        raise SettingError(f"a stack needs at least one layer, got {n_layers}")


def _added(x: Tensor, y: Tensor) -> Tensor:
    with np.errstate(all="ignore"):  # NaN and Inf are results, not news
        return Tensor(x.numpy() + y.numpy())
