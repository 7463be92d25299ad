"""A model that Keras and PyTorch wrote: what is suggested for either loads the same values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ruda.models import get
from ruda.store import Status, Verdict, diff, open_store, suggest

pytestmark = pytest.mark.cases


@pytest.mark.parametrize("file", ["weights.h5", "tiny.pth"])
def test_all_of_crepe_is_certain(cases: Path, file: str) -> None:
    with open_store(cases / "models" / "crepe_tiny" / file) as source:
        report = suggest(source, get("crepe-tiny").build())
        assert {step.verdict for step in report.suggestions} == {Verdict.CERTAIN}
        assert report.matched_after == report.target_tensors == 38


def test_both_files_give_the_same_values(cases: Path) -> None:
    values: list[dict[str, np.ndarray]] = []
    for file in ("weights.h5", "tiny.pth"):
        net = get("crepe-tiny").build()
        with open_store(cases / "models" / "crepe_tiny" / file) as source:
            report = diff(source, net, recipe=suggest(source, net).to_recipe())
            applied = report.of(Status.APPLIED)
            assert len(applied) == 38
            values.append({row.key: row.adapted.read() for row in applied if row.adapted})
    keras, torch = values
    assert keras.keys() == torch.keys()
    for key, found in keras.items():
        np.testing.assert_array_equal(found, torch[key], err_msg=key)
