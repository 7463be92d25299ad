"""Reading back: the independent readers see what was meant, and nothing else passes."""

from dataclasses import replace

import numpy as np
import pytest

from ruda.errors import SaveError
from ruda.nn import ParamId
from ruda.progress import Cancelled
from ruda.store import plan_save, write
from ruda.store.index import TensorIndex
from ruda.store.layout import Layout
from ruda.store.snapshot import ArraySource, TensorSnapshot
from ruda.store.verify import verify_file
from ruda.tensor import DType

SCALARS = {"step": {"UInt": 3}, "a": {"Float": float("nan")}}
SCHEME = {"value": "Q8S", "store": {"PackedU32": 0}}


def index_of(*more):
    made = (
        TensorSnapshot.from_array("b", np.arange(3, dtype=np.uint8), param_id=ParamId(5)),
        TensorSnapshot.from_array("a", np.arange(4, dtype=np.float32).reshape(2, 2)),
        *more,
    )
    return TensorIndex.of(
        made, format="memory", metadata={"k": "v"}, extra={"scalars": dict(SCALARS)}
    )


class Written:
    """A file, and everything that verifying it needs."""

    def __init__(self, path, index):
        self.path = path
        self.plan = plan_save(index, path)
        self.entries = {e.key: e for e in self.plan.entries}
        self.digests = dict(write(self.plan, verify=True).sha256)
        self.metadata = {"k": "v"}
        self.scalars = dict(SCALARS)

    def verify(self, **options):
        verify_file(
            self.path,
            replace(self.plan.layout, entries=tuple(self.entries.values())),
            self.digests,
            metadata=self.metadata,
            scalars=self.scalars,
            **options,
        )


@pytest.fixture(params=["m.bpk", "m.safetensors"])
def written(request, tmp_path):
    return Written(tmp_path / request.param, index_of())


@pytest.fixture
def packed(tmp_path):
    return Written(tmp_path / "m.bpk", index_of())


def test_a_sound_file_passes(written):
    written.verify()


def test_every_spelling_of_a_dtype_passes(tmp_path):
    def zeros(count, dtype):
        return ArraySource(np.zeros(count, dtype))

    flex = TensorSnapshot("flex", DType.FLEX32, (1,), 4, zeros(1, "<f4"))
    Written(
        tmp_path / "m.bpk",
        index_of(
            TensorSnapshot("q", DType.QFLOAT, (4,), 4, zeros(4, "u1"), scheme=SCHEME),
            TensorSnapshot("old", DType.BOOL, (4,), 4, zeros(4, "?"), scheme="Bool"),
            TensorSnapshot("u8", DType.BOOL, (4,), 4, zeros(4, "?"), scheme={"Bool": "U8"}),
            TensorSnapshot("u32", DType.BOOL_U32, (1,), 4, zeros(1, "<u4")),
            flex,
        ),
    ).verify()
    Written(tmp_path / "m.safetensors", index_of(flex)).verify()


CHANGES = [
    pytest.param(lambda w: w.entries.pop("b"), r"'b' is on one side only", id="unexpected"),
    pytest.param(
        lambda w: w.entries.update(c=replace(w.entries["a"], key="c")),
        r"'c' is on one side only",
        id="missing",
    ),
    pytest.param(
        lambda w: w.entries.update(a=replace(w.entries["a"], shape=(4,))),
        r"'a' has shape \(2, 2\) after reading back, not \(4,\)",
        id="shape",
    ),
    pytest.param(
        lambda w: w.entries.update(a=replace(w.entries["a"], dtype=DType.I32)),
        r"'a' has dtype f32 after reading back, not i32",
        id="dtype",
    ),
    pytest.param(
        lambda w: w.digests.update(a=w.digests["b"]),
        r"'a' at byte \d+ reads back with other values \(sha256 \w{12}…, expected \w{12}…\)",
        id="values",
    ),
    pytest.param(
        lambda w: w.metadata.update(k="w"),
        r"metadata \{'k': 'v'\} was read back, not \{'k': 'w'\}",
        id="metadata",
    ),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_a_difference_is_named(written, change, message):
    change(written)
    with pytest.raises(SaveError, match=message) as caught:
        written.verify()
    assert caught.value.stage == "verify"


def test_another_id_does_not_pass(packed):
    entry = packed.entries["b"]
    packed.entries["b"] = replace(entry, snapshot=replace(entry.snapshot, param_id=ParamId(6)))
    with pytest.raises(SaveError, match=r"'b' has another parameter id after reading back"):
        packed.verify()


def test_another_scalar_does_not_pass(packed):
    packed.scalars["step"] = {"UInt": 4}
    with pytest.raises(SaveError, match=r"scalars .*'UInt': 3.* were read back, not .*'UInt': 4"):
        packed.verify()


@pytest.mark.parametrize("cut", [0, 5, 40, -1])
def test_a_file_that_was_cut_does_not_pass(written, cut):
    written.path.write_bytes(written.path.read_bytes()[:cut])
    with pytest.raises(SaveError, match=r"cannot be read back|reads back with other values"):
        written.verify()


def test_another_kind_of_file_does_not_pass(packed):
    packed.path.write_bytes(b"PK\x03\x04" * 64)
    with pytest.raises(SaveError, match=r"cannot be read back: wrong magic"):
        packed.verify()


def test_a_format_without_a_second_reader(tmp_path):
    with pytest.raises(SaveError, match=r"other files cannot be verified"):
        verify_file(tmp_path / "m.x", Layout("other", b"", (), 0), {}, metadata={})


class Stopped:
    def check(self):
        raise Cancelled

    def report(self, progress):
        pass


def test_verifying_can_be_stopped(written):
    with pytest.raises(Cancelled):
        written.verify(monitor=Stopped())


@pytest.fixture
def long(tmp_path, monkeypatch):
    """Twelve tensors of which each thread hashes two in a row."""
    monkeypatch.setattr("ruda.store.verify.RUN_BYTES", 800)
    made = [TensorSnapshot.from_array(f"t{n:02}", np.full(100, n, np.int32)) for n in range(12)]
    index = TensorIndex.of(made, format="memory", metadata={"k": "v"})
    written = Written(tmp_path / "long.safetensors", index)
    written.scalars = {}
    return written


def test_tensors_are_compared_in_several_threads(long):
    seen = []

    class Listening:
        def check(self):
            pass

        def report(self, progress):
            seen.append(progress)

    long.verify(monitor=Listening())
    done = [progress.done for progress in seen]
    assert done == sorted(done) == [400 * n for n in range(1, 13)]
    assert {(p.total, p.unit) for p in seen} == {(4800, "bytes verified")}


def test_of_several_differences_the_first_is_named(long):
    raw = bytearray(long.path.read_bytes())
    for key in ("t09", "t03", "t11"):
        raw[long.entries[key].offset + 5] ^= 1
    long.path.write_bytes(raw)
    with pytest.raises(SaveError, match=r"'t03' at byte \d+ reads back with other values"):
        long.verify()


def test_verifying_in_several_threads_can_be_stopped(long):
    class Stopping:
        left = 5

        def check(self):
            self.left -= 1
            if self.left < 0:
                raise Cancelled

        def report(self, progress):
            pass

    with pytest.raises(Cancelled, match=r"^$"):
        long.verify(monitor=Stopping())
