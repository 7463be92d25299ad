"""Every real file that opens is saved in every format that holds it, with the same values."""

from pathlib import Path

import pytest

from ruda.errors import RudaError
from ruda.store import open_store, plan_save, write

FOLDERS = ("zoo", "burn-fixtures")
NO_WEIGHTS = (".json", ".md", ".py", ".npz", ".onnx")


def readable(cases: Path):
    """Files of the case folder with the facts of their tensors; those that do not open left out."""
    for folder in FOLDERS:
        for path in sorted((cases / folder).rglob("*")):
            if not path.is_file() or path.suffix in NO_WEIGHTS:
                continue
            try:
                with open_store(path) as index:
                    yield path, facts(index)
            except RudaError:
                continue


def facts(index):
    return {key: (s.nbytes, s.sha256()) for key, s in index.items()}


@pytest.mark.cases
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".bpk", ".safetensors"])
def test_values_survive_in_every_format(tmp_path, cases, suffix):
    saved = 0
    for path, expected in readable(cases):
        out = tmp_path / f"saved{suffix}"
        with open_store(path) as index:
            plan = plan_save(index, out, overwrite=True)
            if plan.blockers:
                continue
            write(plan, verify=True)
        with open_store(out) as again:
            assert facts(again) == expected, path
        saved += 1
    assert saved > 80
    assert [p.name for p in tmp_path.iterdir()] == [f"saved{suffix}"]
