"""PySide6 6.12 on Python < 3.12 drops a reference to None with each void call; we pin it away."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.gui


def test_void_calls_keep_the_reference_count_of_none() -> None:
    from PySide6.QtCore import QObject

    thing = QObject()
    before = sys.getrefcount(None)
    for _ in range(100):
        thing.setObjectName("x")
    assert before - sys.getrefcount(None) < 50
