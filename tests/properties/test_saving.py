"""Laws of saving: what is saved is what is opened, and an old file survives every failure."""

import os
import zipfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as official_save

from ruda.errors import SaveError
from ruda.nn import ParamId
from ruda.progress import Cancelled
from ruda.store import Aliases, TensorIndex, TensorSnapshot, open_store, plan_save, save, write
from ruda.store.opening import open_file
from ruda.store.plan import lay_out
from ruda.store.streaming import to_bytes
from ruda.tensor import DType, Kind

RUDAPACK = [d for d in DType if d.rudapack and d.kind is not Kind.QUANTIZED] + [DType.BOOL_U32]
SAFETENSORS = [d for d in DType if d.safetensors and d.kind is not Kind.PACKED]
TORCH = [d for d in DType if d.torch and d.kind not in (Kind.PACKED, Kind.QUANTIZED)]
NUMPY = [d for d in SAFETENSORS if d.value.numpy is not None and d.numpy.isbuiltin == 1]
TIED = [np.arange(n, dtype=np.float32) for n in range(4)]
OFFICIAL = [d for d in SAFETENSORS if d.value.numpy is not None]

texts = st.text(max_size=20)
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
param_ids = st.none() | st.integers(0, 2**64 - 1).map(ParamId)


@st.composite
def snapshots(draw, key, dtypes):
    """A tensor of any dtype and shape with any bits, NaNs of every kind among them."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shapes)
    count = int(np.prod(shape, dtype=int)) * dtype.itemsize
    raw = draw(st.binary(min_size=count, max_size=count))
    if dtype is DType.BOOL:
        raw = bytes(byte & 1 for byte in raw)
    values = np.frombuffer(raw, dtype.carrier).reshape(shape)
    return TensorSnapshot.from_array(key, values, dtype=dtype, param_id=draw(param_ids))


@st.composite
def indexes(draw, dtypes, reserved=""):
    """An index with strange keys and metadata."""
    keys = draw(st.lists(texts.filter(lambda k: k != reserved), unique=True, max_size=6))
    made = [draw(snapshots(key, dtypes)) for key in keys]
    metadata = draw(st.dictionaries(texts, texts, max_size=3))
    return TensorIndex.of(made, format="memory", metadata=metadata)


def facts(index, *, ids):
    return {
        key: (s.dtype, s.shape, s.read().tobytes(), s.param_id if ids else None)
        for key, s in index.items()
    }


@given(indexes(RUDAPACK), st.booleans())
def test_what_is_saved_as_rudapack_is_what_is_opened(index, verify):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.bpk"
        plan = plan_save(index, path)
        result = write(plan, verify=verify)
        assert result.nbytes == path.stat().st_size == plan.file_size
        with open_store(path) as again:
            assert facts(again, ids=True) == facts(index, ids=True)
            assert again.metadata == index.metadata
            saved = path.read_bytes()
            assert to_bytes(lay_out(again, "rudapack")) == saved


@given(indexes(SAFETENSORS, reserved="__metadata__"), st.booleans())
def test_what_is_saved_as_safetensors_is_what_is_opened(index, verify):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.safetensors"
        plan = plan_save(index, path)
        result = write(plan, verify=verify)
        assert result.nbytes == path.stat().st_size == plan.file_size
        with open_store(path) as again:
            assert facts(again, ids=False) == facts(index, ids=False)
            assert again.metadata == index.metadata
            assert to_bytes(lay_out(again, "safetensors")) == path.read_bytes()


@given(indexes(TORCH, reserved=""), st.booleans())
def test_what_is_saved_as_pytorch_is_what_is_opened(index, verify):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.pt"
        plan = plan_save(index, path)
        result = write(plan, verify=verify)
        assert result.nbytes == path.stat().st_size == plan.file_size
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
        with open_store(path) as again:
            assert facts(again, ids=False) == facts(index, ids=False)
            assert list(again) == list(index)
            assert to_bytes(lay_out(again, "pytorch")) == path.read_bytes()


@given(indexes(NUMPY), st.booleans())
def test_what_is_saved_as_npz_is_what_numpy_loads(index, verify):
    refused = {problem.key for problem in plan_save(index, "m.npz").blockers}
    kept = [snapshot for key, snapshot in index.items() if key not in refused]
    assume(kept)
    index = TensorIndex.of(kept, format="memory")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.npz"
        save(index, path, verify=verify)
        with np.load(path, allow_pickle=False) as found:
            assert list(found) == list(index)
            for key, snapshot in index.items():
                assert found[key].dtype == snapshot.dtype.numpy
                assert found[key].shape == snapshot.shape
                assert found[key].tobytes() == snapshot.read().tobytes()
        with open_store(path) as again:
            assert facts(again, ids=False) == facts(index, ids=False)
            assert to_bytes(lay_out(again, "numpy")) == path.read_bytes()


@given(indexes(SAFETENSORS, reserved="__metadata__"), st.integers(1, 200))
@settings(max_examples=40)
def test_a_set_of_shards_is_what_one_file_would_be(index, shard_size):
    with TemporaryDirectory() as folder:
        result = save(index, Path(folder) / "m.safetensors", shard_size=shard_size, verify=True)
        for part in result.parts:
            with open_file(part) as shard:
                assert len(shard) == 1 or shard.nbytes <= shard_size
        with open_store(result.path) as again:
            assert facts(again, ids=False) == facts(index, ids=False)
            assert again.metadata == index.metadata or not result.parts


@st.composite
def tied_indexes(draw):
    """Tensors of which some are one, in memory."""
    arrays = draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    first: dict[int, str] = {}
    made = []
    for number, array in enumerate(arrays):
        owner = first.setdefault(array, f"k{number}")
        snapshot = TensorSnapshot.from_array(f"k{number}", TIED[array])
        made.append(replace(snapshot, shared_with=None if owner == snapshot.key else owner))
    return TensorIndex.of(made, format="pytorch", metadata={"format": "pt"})


@pytest.mark.parametrize("name", ["m.safetensors", "m.bpk", "m.pt"])
@settings(max_examples=40)
@given(tied_indexes(), st.sampled_from(list(Aliases)), st.data())
def test_tensors_that_are_one_come_back_all(name, index, policy, data):
    owner = data.draw(st.sampled_from(list(index)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        plan = plan_save(index, path, aliases=policy, owners=[owner])
        write(plan, verify=True)
        with open_store(path) as again:
            assert facts(again, ids=False) == facts(index, ids=False)
        assert owner not in plan.aliases
        assert set(plan.aliases.values()).isdisjoint(plan.aliases)


@given(indexes(OFFICIAL, reserved="__metadata__"))
def test_safetensors_are_those_of_the_official_library(index):
    metadata = dict(list(index.metadata.items())[:1])  # the library shuffles several
    arrays = {key: s.read() for key, s in index.items()}
    ours = to_bytes(lay_out(index, "safetensors", metadata))
    if arrays or not metadata:  # the library writes no JSON for metadata alone
        assert ours == official_save(arrays, metadata or None)


@given(indexes(RUDAPACK))
def test_the_order_of_rudapack_tensors_is_kept(index):
    layout = lay_out(index, "rudapack")
    assert [e.key for e in layout.entries] == list(index)
    ends = [0, *(e.end for e in layout.entries)]
    for entry, end in zip(layout.entries, ends, strict=False):
        assert entry.offset >= end
        assert entry.offset % 256 == 0


@given(indexes(SAFETENSORS, reserved="__metadata__"))
def test_fresh_safetensors_are_aligned_and_without_holes(index):
    layout = lay_out(index, "safetensors")
    position = len(layout.header)
    assert position % 8 == 0
    for entry in layout.entries:
        assert entry.offset == position
        assert entry.offset % entry.dtype.itemsize == 0
        position = entry.end
    assert position == layout.file_size


OLD = TensorIndex.of(
    [TensorSnapshot.from_array("old", np.arange(7, dtype=np.int16))], format="memory"
)
NEW = TensorIndex.of(
    [TensorSnapshot.from_array(f"new{n}", np.full(n * 100, n, np.float32)) for n in range(6)],
    format="memory",
)
NAMES = ["m.bpk", "m.safetensors", "m.pt", "m.npz"]


class FullDisk:
    """No file grows beyond ``limit`` bytes in this block."""

    def __init__(self, limit):
        self.limit = limit

    def __enter__(self):
        import resource

        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self.before[1]))

    def __exit__(self, *_):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@settings(max_examples=60)
def test_a_write_that_fails_at_any_byte_leaves_the_old_file_whole(name, data):
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        save(OLD, path)
        before = path.read_bytes()
        plan = plan_save(NEW, path, overwrite=True)
        limit = data.draw(st.integers(0, plan.file_size - 1))
        with FullDisk(limit), pytest.raises(SaveError, match=r"the old file is unchanged"):
            write(plan)
        assert path.read_bytes() == before
        assert os.listdir(folder) == [name]
        with FullDisk(plan.file_size):
            write(plan)
        with open_store(path) as again:
            assert facts(again, ids=False) == facts(NEW, ids=False)


class StopAfter:
    def __init__(self, checks):
        self.left = checks

    def check(self):
        self.left -= 1
        if self.left < 0:
            raise Cancelled

    def report(self, progress):
        pass


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("name", NAMES)
@given(st.integers(0, 20))
@example(0)
def test_a_stop_at_any_point_leaves_the_old_or_the_new_file(name, verify, checks):
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        save(OLD, path)
        before = path.read_bytes()
        plan = plan_save(NEW, path, overwrite=True)
        try:
            write(plan, verify=verify, monitor=StopAfter(checks))
        except Cancelled:
            assert path.read_bytes() == before
        else:
            assert path.stat().st_size == plan.file_size
        assert os.listdir(folder) == [name]


@pytest.mark.parametrize("name", NAMES)
@given(st.permutations(range(6)), st.integers(0, 6))
def test_saving_over_the_open_file(name, order, count):
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        save(NEW, path)
        with open_store(path) as index:
            before = facts(index, ids=True)
            assume(count or name != "m.npz")  # an archive has an array
            kept = [index[f"new{n}"].renamed(f"kept{n}") for n in order[:count]]
            save(TensorIndex.of(kept, format=index.format, path=path), path, overwrite=True)
            assert facts(index, ids=True) == before
        with open_store(path) as again:
            assert facts(again, ids=True) == {f"kept{n}": before[f"new{n}"] for n in order[:count]}
