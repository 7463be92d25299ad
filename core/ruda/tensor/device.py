"""HostDevice: the one processor that Ruda computes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostDevice:
    """The processor and its main memory. All host devices are the same device."""

    def __str__(self) -> str:
        return "Cpu"
