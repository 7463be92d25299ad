"""What a case of the kernels' benchmark is, and its numbers and peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ruda._kernels import narrowing

try:
    import torch
except ImportError:
    torch = None

Work = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One line: what is measured, how many bytes it moves, who takes part, and that it is right."""

    name: str
    moved: int
    ours: Work
    peers: dict[str, Work] = field(default_factory=dict)
    check: Callable[[], None] = lambda: None


def tensor(array: NDArray[Any]) -> Any:
    """The torch tensor over the same memory."""
    if array.dtype == narrowing.BF16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def torch_peer(work: Callable[..., object], *arrays: NDArray[Any]) -> dict[str, Work]:
    """The work on the arrays as tensors, where torch is installed."""
    if torch is None:
        return {}
    tensors = [tensor(array) for array in arrays]
    return {"torch": lambda: work(*tensors)}


def torch_copy(target: Any, source: Any) -> None:
    target.copy_(source)


def numbers(n: int) -> NDArray[np.float32]:
    return (np.random.default_rng(0).standard_normal(n) * 0.05).astype(np.float32)
