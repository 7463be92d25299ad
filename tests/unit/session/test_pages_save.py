from dataclasses import replace

import numpy as np
import pytest

from ruda.progress import Cancelled
from ruda.session import (
    SaveOptions,
    can_write,
    edit_only,
    metadata_lines,
    plan_saving,
    save_plan_page,
    saved_page,
)
from ruda.store import CastPolicy, Recipe, convert, open_store, write
from ruda.tensor import DType

from .conftest import index_of, tensor


@pytest.fixture
def halved(pytorch_file):
    recipe = (
        Recipe()
        .with_rule(r"^net\.", "")
        .with_adapt("pytorch-to-ruda")
        .with_cast(CastPolicy.half(keep=["BatchNorm"]))
    )
    with open_store(pytorch_file) as index:
        yield index, convert(index, recipe=recipe)


def test_the_plan_tells_before_and_after(halved, tmp_path):
    source, view = halved
    page = save_plan_page(plan_saving(view, SaveOptions(tmp_path / "out.bpk")), source)
    assert [share.dtype for share in page.dtypes_before] == ["f32"]
    assert [(share.dtype, share.tensors) for share in page.dtypes_after] == [("f16", 8), ("f32", 8)]
    lines = {line.key: line for line in page.lines}
    assert lines["fc*.weight"].what == "rename · transpose 1,0 · cast f16"
    assert lines["fc*.weight"].module == "Linear"
    assert lines["norm*.running_var"].dtype == "f32"
    assert page.can_save
    assert len(page.notes) == 1
    assert page.notes[0].endswith("inferred from names and shapes: 2 BatchNorm, 2 Conv2d, 2 Linear")
    assert page.summary.startswith("16 tensors · 58.0 kB → 29.2 kB · needs ")
    assert not (tmp_path / "out.bpk").exists()


def test_what_was_saved_counts_what_was_lost(tmp_path):
    source = index_of(tensor("a.0.w", (2,), fill=1e6), tensor("a.1.w", (2,), fill=1e-9))
    view = convert(source, recipe=Recipe().with_cast(CastPolicy.every(DType.F16)))
    plan = plan_saving(view, SaveOptions(tmp_path / "o.safetensors", verify=True))
    page = saved_page(write(plan, verify=True))
    assert page.cast_text == "4 values cast: overflow 2, underflow 2, subnormal 0"
    assert page.worst == ("a.*.w: 4 values cast: overflow 2, underflow 2, subnormal 0",)
    assert page.verified
    assert page.title.startswith("Saved o.safetensors, ")
    assert page.title.endswith("read back and compared")


def test_metadata_is_added_to_that_of_the_source(tmp_path):
    from dataclasses import replace

    source = replace(index_of(tensor("a")), metadata={"format": "pt", "step": "1"})
    options = SaveOptions(tmp_path / "o.safetensors", metadata=(("step", "2"), ("by", "me")))
    write(plan_saving(source, options))
    with open_store(tmp_path / "o.safetensors") as index:
        assert dict(index.metadata) == {"format": "pt", "step": "2", "by": "me"}
        np.testing.assert_array_equal(index["a"].read(), np.zeros((2, 3), "f4"))


def test_what_stands_in_the_way_is_listed(tmp_path):
    (tmp_path / "o.safetensors").write_bytes(b"mine")
    source = index_of(tensor("a"))
    page = save_plan_page(plan_saving(source, SaveOptions(tmp_path / "o.safetensors")), source)
    assert not page.can_save
    assert "exists" in page.blockers[0]


def test_tensors_that_are_left_out_are_counted(tmp_path):
    source = index_of(tensor("a"), tensor("b"))
    view = convert(source, recipe=Recipe().with_skip("b"))
    page = save_plan_page(plan_saving(view, SaveOptions(tmp_path / "o.bpk")), source)
    assert page.left_out == 1


WRITABLE = [
    pytest.param("safetensors", True, id="safetensors"),
    pytest.param("rudapack", True, id="rudapack"),
    pytest.param("pytorch", True, id="pytorch"),
    pytest.param("other", False, id="unknown"),
]


@pytest.mark.parametrize(("name", "expected"), WRITABLE)
def test_formats_that_can_be_written(name, expected):
    assert can_write(name) is expected


@pytest.mark.parametrize("name", ["x.safetensors", "x.bpk", "x.pt", "x.npz"])
def test_metadata_is_kept_or_said_to_be_lost(tmp_path, name):
    source = index_of(tensor("a", (3,)))
    plan = plan_saving(source, SaveOptions(tmp_path / name, metadata=(("author", "me"),)))
    source = replace(source, metadata={"author": "me"})
    state = save_plan_page(plan, source).metadata[0].state
    dropped = any("not carried over" in str(problem) for problem in plan.warnings)
    assert state == ("lost" if dropped else "kept")


def test_metadata_says_what_becomes_of_every_entry():
    source = {"kept": "1", "changed": "1", "removed": "1", "lost": "1"}
    written = {"kept": "1", "changed": "2", "added": "1"}
    lines = metadata_lines(source, written, frozenset({"removed"}))
    assert {line.key: line.state for line in lines} == {key: key for key in (*source, "added")}
    assert [line.is_own for line in lines] == [True] * 4 + [False]


class Stopped:
    def check(self):
        raise Cancelled("stopped")

    def report(self, progress):
        pass


def test_metadata_that_needs_a_copy_can_be_stopped(pytorch_file):
    options = SaveOptions(pytorch_file, metadata=(("note", "x" * 2000),), overwrite=True)
    before = pytorch_file.read_bytes()
    with open_store(pytorch_file) as index, pytest.raises(Cancelled):
        edit_only(index, Recipe(), options, monitor=Stopped())
    assert pytorch_file.read_bytes() == before
    assert len(list(pytorch_file.parent.iterdir())) == 1


def test_a_line_names_what_is_behind_it_and_nothing_else(tmp_path):
    alike = [tensor(f"layers.{n}.weight") for n in range(130)]
    other = tensor("layers.200.weight", shape=(2, 4), dtype="f2")
    source = index_of(*alike, other, tensor("bias"))
    page = save_plan_page(plan_saving(source, SaveOptions(tmp_path / "o.bpk")), source)
    many, odd, one = page.lines
    assert (many.count, many.members) == (130, tuple(f"layers.{n}.weight" for n in range(100)))
    assert (odd.count, odd.members) == (1, ("layers.200.weight",))
    assert (one.count, one.members) == (1, ("bias",))
