"""Recurrent layers: Rnn, Lstm and Gru, one way or both ways along a sequence.

Every gate is two Linear layers of its own, one for the input and one for the hidden state, each
with its bias. PyTorch keeps the gates of a layer as blocks of rows in one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from ruda import _kernels
from ruda.errors import SettingError
from ruda.nn.init import Initializer, XavierNormal, derive_seed
from ruda.nn.linear import Linear
from ruda.nn.module import Module
from ruda.nn.precision import working_input, working_values
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]

XAVIER = XavierNormal()

RnnActivation: TypeAlias = Literal["tanh", "relu"]


class GateController(Module):
    """The two matrix products of a gate: W · x + b and U · h + c."""

    def __init__(
        self, d_input: int, d_hidden: int, *, bias: bool, initializer: Initializer, seed: int
    ) -> None:
        self.input_transform = Linear(
            d_input,
            d_hidden,
            bias=bias,
            initializer=initializer,
            seed=derive_seed(seed, "input_transform"),
        )
        self.hidden_transform = Linear(
            d_hidden,
            d_hidden,
            bias=bias,
            initializer=initializer,
            seed=derive_seed(seed, "hidden_transform"),
        )


class RecurrentState(NamedTuple):
    """What a layer knows after its last step: (batch, d_hidden) each; ``cell`` for Lstm only."""

    hidden: Tensor
    cell: Tensor | None = None


class _Weights(NamedTuple):
    """The gates of a layer side by side, in the order in which the layer names them."""

    inputs: Array
    """Products of all steps at once: (time, batch, gates · hidden)."""
    hidden: Array
    """(hidden, gates · hidden)"""
    hidden_bias: Array


class _Recurrent(Module):
    """Shared by the three: sizes, the gates in order, and the walk along the sequence."""

    gates: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        d_input: int,
        d_hidden: int,
        *,
        bias: bool = True,
        batch_first: bool = True,
        reverse: bool = False,
        initializer: Initializer = XAVIER,
        seed: int = 0,
    ) -> None:
        if d_input < 1 or d_hidden < 1:
            raise SettingError(
                f"{type(self).__name__} needs positive sizes, got {d_input} and {d_hidden}"
            )
        for name in self.gates:
            gate = GateController(
                d_input, d_hidden, bias=bias, initializer=initializer, seed=derive_seed(seed, name)
            )
            setattr(self, name, gate)
        self.d_input = d_input
        self.d_hidden = d_hidden
        self.batch_first = batch_first
        self.reverse = reverse

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, d_input) → (batch, time, d_hidden), or time first if told so.

        Raises ShapeError and DTypeError naming the layer.
        """
        return self.forward_with_state(x)[0]

    def forward_with_state(
        self, x: Tensor, state: RecurrentState | None = None
    ) -> tuple[Tensor, RecurrentState]:
        """The hidden states of all steps, and the state after the last; zeros to begin with."""
        if x.rank != 3 or x.shape[2] != self.d_input:
            order = "batch, time" if self.batch_first else "time, batch"
            raise self.shape_error(f"[{order}, {self.d_input}]", x.shape)
        given = working_input(self, x)
        if self.batch_first:
            given = given.transpose(1, 0, 2)
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            weights = self._weights(given)
            shape = (given.shape[1], self.d_hidden)
            carried = [
                np.zeros(shape, given.dtype) if part is None else self._state(part, shape)
                for part in ((None, None) if state is None else state)
            ]
            out = np.empty((given.shape[0], *shape), weights.inputs.dtype)
            times = range(given.shape[0])
            for at in reversed(times) if self.reverse else times:
                carried = self._step(weights, weights.inputs[at], carried)
                out[at] = carried[0]
        if self.batch_first:
            out = np.ascontiguousarray(out.transpose(1, 0, 2))
        return Tensor(out), self._after(carried)

    def _state(self, part: Tensor, shape: tuple[int, int]) -> Array:
        if part.shape != shape:
            raise self.shape_error(f"{list(shape)} as state", part.shape)
        return working_input(self, part)

    def _after(self, carried: list[Array]) -> RecurrentState:
        return RecurrentState(Tensor(carried[0]))

    def _weights(self, x: Array) -> _Weights:
        gates: list[GateController] = [getattr(self, name) for name in self.gates]
        ins = [gate.input_transform for gate in gates]
        hiddens = [gate.hidden_transform for gate in gates]
        found = [
            working_values(self, x, *(p for layer in layers for p in (layer.weight, layer.bias)))
            for layers in (ins, hiddens)
        ]
        step = 1 if gates[0].input_transform.bias is None else 2
        wide = max((part[0].dtype for part in found), key=lambda dtype: dtype.itemsize)
        first, second = ([v.astype(wide, copy=False) for v in part[1:]] for part in found)
        given = found[0][0].astype(wide, copy=False)
        inputs = np.matmul(given, np.concatenate(first[::step], axis=1))
        hidden = np.ascontiguousarray(np.concatenate(second[::step], axis=1))
        if step == 1:
            return _Weights(inputs, hidden, np.zeros(hidden.shape[1], wide))
        inputs += np.concatenate(first[1::2])
        return _Weights(inputs, hidden, np.concatenate(second[1::2]))

    def _step(self, weights: _Weights, given: Array, carried: list[Array]) -> list[Array]:
        raise NotImplementedError


class Rnn(_Recurrent):
    """h' = act(W · x + b + U · h + c)."""

    gates = ("gate",)

    def __init__(
        self,
        d_input: int,
        d_hidden: int,
        *,
        bias: bool = True,
        batch_first: bool = True,
        reverse: bool = False,
        activation: RnnActivation = "tanh",
        initializer: Initializer = XAVIER,
        seed: int = 0,
    ) -> None:
        super().__init__(
            d_input,
            d_hidden,
            bias=bias,
            batch_first=batch_first,
            reverse=reverse,
            initializer=initializer,
            seed=seed,
        )
        if activation not in _ACTIVATIONS:
            raise SettingError(f"activation is 'tanh' or 'relu', got {activation!r}")
        self._activation = _ACTIVATIONS[activation]

    def _step(self, weights: _Weights, given: Array, carried: list[Array]) -> list[Array]:
        return [
            self._activation(given + (carried[0] @ weights.hidden + weights.hidden_bias)),
            *carried[1:],
        ]


class Lstm(_Recurrent):
    """c' = f · c + i · g and h' = o · tanh(c'); i, f and o go through a sigmoid, g through tanh."""

    gates = ("input_gate", "forget_gate", "output_gate", "cell_gate")

    def _step(self, weights: _Weights, given: Array, carried: list[Array]) -> list[Array]:
        hidden, cell = carried
        if _all_f32(given, hidden, cell):
            cell = cell.copy()  # the kernel writes the new one there
            product = hidden @ weights.hidden
            return [_kernels.lstm_step(given, product, weights.hidden_bias, cell), cell]
        total = given + (hidden @ weights.hidden + weights.hidden_bias)
        split = 3 * self.d_hidden
        opened, new = _sigmoid(total[:, :split]), np.tanh(total[:, split:])
        enter, forget, leave = np.split(opened, 3, axis=1)
        cell = forget * cell + enter * new
        return [leave * np.tanh(cell), cell]

    def _after(self, carried: list[Array]) -> RecurrentState:
        return RecurrentState(Tensor(carried[0]), Tensor(carried[1]))


class Gru(_Recurrent):
    """h' = (1 - z) · n + z · h, with z and r through a sigmoid.

    n = tanh(W · x + b + r · (U · h + c)), as in PyTorch; with ``reset_after`` off
    n = tanh(W · x + b + U · (r · h) + c).
    """

    gates = ("update_gate", "reset_gate", "new_gate")

    def __init__(
        self,
        d_input: int,
        d_hidden: int,
        *,
        bias: bool = True,
        batch_first: bool = True,
        reverse: bool = False,
        reset_after: bool = True,
        initializer: Initializer = XAVIER,
        seed: int = 0,
    ) -> None:
        super().__init__(
            d_input,
            d_hidden,
            bias=bias,
            batch_first=batch_first,
            reverse=reverse,
            initializer=initializer,
            seed=seed,
        )
        self.reset_after = reset_after

    def _step(self, weights: _Weights, given: Array, carried: list[Array]) -> list[Array]:
        hidden, width = carried[0], self.d_hidden
        matrix, bias = weights.hidden, weights.hidden_bias
        if self.reset_after and _all_f32(given, hidden):
            return [_kernels.gru_step(given, hidden @ matrix, bias, hidden), *carried[1:]]
        opened = _sigmoid(
            given[:, : 2 * width] + (hidden @ matrix[:, : 2 * width] + bias[: 2 * width])
        )
        update, reset = opened[:, :width], opened[:, width:]
        if self.reset_after:
            inner = reset * (hidden @ matrix[:, 2 * width :] + bias[2 * width :])
        else:
            inner = (reset * hidden) @ matrix[:, 2 * width :] + bias[2 * width :]
        new = np.tanh(given[:, 2 * width :] + inner)
        return [(1 - update) * new + update * hidden, *carried[1:]]


class _BothWays(Module):
    """One layer along the sequence and one against it; their outputs are laid side by side.

    The fields are ``forward`` and ``reverse`` in files.
    """

    forward_: Rnn | Lstm | Gru
    reverse: Rnn | Lstm | Gru

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, d_input) → (batch, time, 2 · d_hidden). Raises as the layers do."""
        both = (self.forward_(x).numpy(), self.reverse(x).numpy())
        return Tensor(np.concatenate(both, axis=-1))


class BiRnn(_BothWays):
    """Rnn both ways; takes the settings of Rnn."""

    def __init__(self, d_input: int, d_hidden: int, *, seed: int = 0, **settings: Any) -> None:
        self.forward_ = Rnn(d_input, d_hidden, seed=derive_seed(seed, "forward"), **settings)
        self.reverse = Rnn(
            d_input, d_hidden, seed=derive_seed(seed, "reverse"), reverse=True, **settings
        )


class BiLstm(_BothWays):
    """Lstm both ways; takes the settings of Lstm."""

    def __init__(self, d_input: int, d_hidden: int, *, seed: int = 0, **settings: Any) -> None:
        self.forward_ = Lstm(d_input, d_hidden, seed=derive_seed(seed, "forward"), **settings)
        self.reverse = Lstm(
            d_input, d_hidden, seed=derive_seed(seed, "reverse"), reverse=True, **settings
        )


class BiGru(_BothWays):
    """Gru both ways; takes the settings of Gru."""

    def __init__(self, d_input: int, d_hidden: int, *, seed: int = 0, **settings: Any) -> None:
        self.forward_ = Gru(d_input, d_hidden, seed=derive_seed(seed, "forward"), **settings)
        self.reverse = Gru(
            d_input, d_hidden, seed=derive_seed(seed, "reverse"), reverse=True, **settings
        )


@dataclass(frozen=True, slots=True)
class RnnConfig:
    """Settings of an Rnn or BiRnn."""

    d_input: int
    d_hidden: int
    bias: bool = True
    batch_first: bool = True
    reverse: bool = False
    activation: RnnActivation = "tanh"
    initializer: Initializer = XAVIER

    def init(self, device: HostDevice, *, seed: int = 0) -> Rnn:
        """A new layer; its values are drawn from the seed when first needed."""
        settings = {**_settings(self), "activation": self.activation}
        return Rnn(self.d_input, self.d_hidden, reverse=self.reverse, seed=seed, **settings)

    def init_both_ways(self, device: HostDevice, *, seed: int = 0) -> BiRnn:
        """A new BiRnn; ``reverse`` does not matter."""
        settings = {**_settings(self), "activation": self.activation}
        return BiRnn(self.d_input, self.d_hidden, seed=seed, **settings)


@dataclass(frozen=True, slots=True)
class LstmConfig:
    """Settings of an Lstm or BiLstm."""

    d_input: int
    d_hidden: int
    bias: bool = True
    batch_first: bool = True
    reverse: bool = False
    initializer: Initializer = XAVIER

    def init(self, device: HostDevice, *, seed: int = 0) -> Lstm:
        """A new layer; its values are drawn from the seed when first needed."""
        settings = _settings(self)
        return Lstm(self.d_input, self.d_hidden, reverse=self.reverse, seed=seed, **settings)

    def init_both_ways(self, device: HostDevice, *, seed: int = 0) -> BiLstm:
        """A new BiLstm; ``reverse`` does not matter."""
        return BiLstm(self.d_input, self.d_hidden, seed=seed, **_settings(self))


@dataclass(frozen=True, slots=True)
class GruConfig:
    """Settings of a Gru or BiGru."""

    d_input: int
    d_hidden: int
    bias: bool = True
    batch_first: bool = True
    reverse: bool = False
    reset_after: bool = True
    initializer: Initializer = XAVIER

    def init(self, device: HostDevice, *, seed: int = 0) -> Gru:
        """A new layer; its values are drawn from the seed when first needed."""
        settings = {**_settings(self), "reset_after": self.reset_after}
        return Gru(self.d_input, self.d_hidden, reverse=self.reverse, seed=seed, **settings)

    def init_both_ways(self, device: HostDevice, *, seed: int = 0) -> BiGru:
        """A new BiGru; ``reverse`` does not matter."""
        settings = {**_settings(self), "reset_after": self.reset_after}
        return BiGru(self.d_input, self.d_hidden, seed=seed, **settings)


def _settings(config: RnnConfig | LstmConfig | GruConfig) -> dict[str, Any]:
    return {
        "bias": config.bias,
        "batch_first": config.batch_first,
        "initializer": config.initializer,
    }


def _all_f32(*values: Array) -> bool:
    return all(each.dtype == np.float32 for each in values)


def _sigmoid(x: Array) -> Array:
    result: Array = 1 / (1 + np.exp(-x))
    return result


def _relu(x: Array) -> Array:
    result: Array = np.maximum(x, x.dtype.type(0))
    return result


_ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {"tanh": np.tanh, "relu": _relu}
