"""Runs a test once per variant that this processor and installation have."""

from __future__ import annotations

import pytest

from ruda._kernels import (
    activation,
    available_variants,
    batches,
    comparing,
    float8,
    layout,
    narrowing,
    order,
    quantize,
    rows,
    statistics,
    variants,
    windows,
)


@pytest.fixture(params=available_variants())
def variant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the variant that serves behind the gate for this test."""
    modules = variants.load(request.param)
    monkeypatch.setattr(activation, "_activation", modules["activation"])
    monkeypatch.setattr(comparing, "_difference", modules["difference"])
    monkeypatch.setattr(quantize, "_quantize", modules["quantize"])
    monkeypatch.setattr(batches, "_collate", modules["collate"])
    monkeypatch.setattr(windows, "_spatial", modules["spatial"])
    monkeypatch.setattr(rows, "_rows", modules["rows"])
    monkeypatch.setattr(float8, "_float8", modules["float8"])
    monkeypatch.setattr(narrowing, "_half", modules["half"])
    monkeypatch.setattr(statistics, "_moments", modules["moments"])
    monkeypatch.setattr(statistics, "_histogram", modules["histogram"])
    monkeypatch.setattr(layout, "_transpose", modules["transpose"])
    monkeypatch.setattr(order, "_shuffle", modules["shuffle"])
    return str(request.param)
