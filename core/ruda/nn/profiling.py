"""profile: where the time of one run goes, and where the parameters are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ruda.nn.module import Module, run_observed
from ruda.tensor import Tensor


@dataclass(frozen=True, slots=True)
class LayerTime:
    """One call of one layer without layers inside it, in the order of the calls."""

    path: str
    kind: str
    seconds: float
    output_shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LayerSize:
    """Number of parameter values that a layer holds itself."""

    path: str
    kind: str
    parameters: int


def profile(
    model: Module, x: Tensor, *, clock: Callable[[], float] = time.perf_counter
) -> tuple[Tensor, tuple[LayerTime, ...]]:
    """Run once and time every layer. ``clock`` gives seconds and never goes back.

    What a model does between its layers (reshaping, softmax) is in no row.
    """
    paths = {id(module): path for path, module in reversed(list(model.named_modules()))}
    rows: list[LayerTime] = []

    def observe(module: Module, given: Tensor) -> Tensor:
        start = clock()
        result = module.forward(given)
        seconds = clock() - start
        if next(module.children(), None) is None:
            path = paths.get(id(module), "")
            rows.append(LayerTime(path, module.struct_name, seconds, result.shape))
        return result

    output = run_observed(model, x, observe)
    return output, tuple(rows)


def layer_sizes(model: Module) -> tuple[LayerSize, ...]:
    """Every layer without layers inside it, with the number of its parameter values."""
    return tuple(
        LayerSize(path, module.struct_name, module.num_params())
        for path, module in model.named_modules()
        if next(module.children(), None) is None
    )
