"""PyTorch files: an archive as torch.save makes it, shared memory kept, nothing but tensors."""

import io
import pickletools
import struct
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from ruda.errors import SaveError
from ruda.nn import ParamId
from ruda.store import TensorIndex, TensorSnapshot, open_store, plan_save, save, write
from ruda.store.formats._pickle_out import StorageText, TensorText, state_dict_pickle
from ruda.store.formats._write_zip import Checksums, ZipLayout
from ruda.store.plan import lay_out
from ruda.store.snapshot import ArraySource
from ruda.store.streaming import to_bytes
from ruda.tensor import DType
from ruda.testing.file_bytes import torch_zip_bytes

A = np.arange(6, dtype="<f4").reshape(2, 3)


def index_of(*arrays, **more):
    made = [TensorSnapshot.from_array(f"t{n}", array) for n, array in enumerate(arrays)]
    return TensorIndex.of(made, format="memory", **more)


def archive_of(index):
    return zipfile.ZipFile(io.BytesIO(to_bytes(lay_out(index, "pytorch"))))


def test_the_members_are_those_of_torch_save():
    archive = archive_of(index_of(A, A[0]))
    names = ["data.pkl", ".format_version", ".storage_alignment", "byteorder"]
    assert archive.namelist() == [f"archive/{n}" for n in (*names, "data/0", "data/1", "version")]
    assert archive.testzip() is None
    facts = {n: archive.read(f"archive/{n}") for n in (*names[1:], "version")}
    assert facts == {
        ".format_version": b"1",
        ".storage_alignment": b"64",
        "byteorder": b"little",
        "version": b"3\n",
    }
    assert {i.compress_type for i in archive.infolist()} == {zipfile.ZIP_STORED}
    assert archive.read("archive/data/0") == A.tobytes()


def test_values_begin_at_multiples_of_64():
    layout = lay_out(index_of(*(np.ones(n, "u1") for n in range(1, 70))), "pytorch")
    assert {e.offset % 64 for e in layout.entries} == {0}


def test_equal_tensors_give_equal_bytes(tmp_path):
    save(index_of(A), tmp_path / "one.pt")
    save(index_of(A.copy()), tmp_path / "other.pth")
    assert (tmp_path / "one.pt").read_bytes() == (tmp_path / "other.pth").read_bytes()


def test_the_pickle_names_what_a_state_dict_needs_and_nothing_else():
    archive = archive_of(index_of(A, np.zeros(2, "<u2"), np.array(True)))
    found = {
        argument
        for opcode, argument, _ in pickletools.genops(archive.read("archive/data.pkl"))
        if opcode.name == "GLOBAL"
    }
    assert found == {
        "collections OrderedDict",
        "torch._utils _rebuild_tensor_v2",
        "torch._utils _rebuild_tensor_v3",
        "torch FloatStorage",
        "torch BoolStorage",
        "torch.storage UntypedStorage",
        "torch uint16",
    }


NUMBERS = [0, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**63 - 1]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_of_any_size_come_back(number):
    text = TensorText("k", StorageText("0", "FloatStorage", number), "float32", number, (), ())
    arguments = [a for _, a, _ in pickletools.genops(state_dict_pickle([text]))]
    assert arguments.count(number) >= 2


def test_more_than_256_things_are_remembered():
    index = index_of(*(np.full(1, n, "<f4") for n in range(700)))
    out = io.StringIO()
    pickletools.dis(archive_of(index).read("archive/data.pkl"), out)
    assert "LONG_BINPUT" in out.getvalue()


def test_tied_and_sliced_tensors_share_a_storage(tmp_path):
    values = np.arange(20, dtype="<f4")
    source = tmp_path / "views.pt"
    source.write_bytes(torch_zip_bytes({"w": values}))
    with open_store(source) as index:
        whole = index["w"]
        ref = whole.source.ref

        def view(key, offset, shape, strides):
            seen = replace(
                whole.source, ref=replace(ref, offset=offset, shape=shape, strides=strides)
            )
            count = int(np.prod(shape))
            return TensorSnapshot(
                key, DType.F32, shape, 4 * count, seen, shared_with=None if key == "w" else "w"
            )

        made = TensorIndex.of(
            [
                view("w", 0, (20,), (1,)),
                view("tied", 0, (20,), (1,)),
                view("slice", 3, (4,), (1,)),
                view("turned", 0, (5, 4), (1, 5)),
            ],
            format="pytorch",
        )
        plan = plan_save(made, tmp_path / "out.pt")
        assert [(b.key, b.nbytes) for b in plan.layout.blocks] == [("w", 80)]
        assert plan.aliases == {"tied": "w"}
        assert plan.warnings == ()
        write(plan, verify=True)
        with open_store(tmp_path / "out.pt") as again:
            assert {k: s.shared_with for k, s in again.items()} == {
                "w": None,
                "tied": "w",
                "slice": "w",
                "turned": "w",
            }
            for key, snapshot in made.items():
                assert again[key].read().tobytes() == snapshot.read().tobytes()


def test_a_lone_view_is_written_without_the_rest_of_its_storage(tmp_path):
    alone = TensorSnapshot.from_array("v", np.arange(20, dtype="<f4")[4:8])
    layout = lay_out(TensorIndex.of([alone], format="memory"), "pytorch")
    assert layout.blocks[0].nbytes == 16


REFUSED = [
    pytest.param(
        DType.F6_E2M3, 4, 3, "PyTorch has no dtype for f6_e2m3; save as safetensors", id="f6"
    ),
    pytest.param(
        DType.BOOL_U32, 4, 16, "PyTorch has no dtype for bool_u32; save as Rudapack", id="bool32"
    ),
    pytest.param(
        DType.QFLOAT,
        4,
        4,
        "PyTorch has no dtype for qfloat; cast it to f32, which dequantises it, or save",
        id="quantized",
    ),
    pytest.param(DType.F32, 4, 12, "needs 16 bytes, but the tensor has 12", id="size"),
]


@pytest.mark.parametrize(("dtype", "count", "nbytes", "message"), REFUSED)
def test_what_pytorch_does_not_hold_is_refused(tmp_path, dtype, count, nbytes, message):
    snapshot = TensorSnapshot("t", dtype, (count,), nbytes, ArraySource(np.zeros(nbytes, "u1")))
    with pytest.raises(SaveError, match=f"'t': .*{message}"):
        save(TensorIndex.of([snapshot], format="memory"), tmp_path / "m.pt")


def test_an_empty_key_is_refused(tmp_path):
    index = TensorIndex.of([TensorSnapshot.from_array("", A)], format="memory")
    with pytest.raises(SaveError, match=r"'': an empty key is read back as the whole file"):
        save(index, tmp_path / "m.pt")


def test_pairs_of_f4_are_single_elements(tmp_path):
    snapshot = TensorSnapshot("t", DType.F4_E2M1, (2, 4), 4, ArraySource(np.arange(4, dtype="u1")))
    save(TensorIndex.of([snapshot], format="memory"), tmp_path / "m.pt", verify=True)
    with open_store(tmp_path / "m.pt") as index:
        assert index["t"].shape == (2, 2)
        assert index["t"].read().tobytes() == bytes(range(4))


def test_what_has_no_place_is_said():
    one = TensorSnapshot.from_array("t", A, param_id=ParamId(7))
    index = TensorIndex.of(
        [one], format="memory", metadata={"a": "b"}, extra={"scalars": {"s": {"UInt": 1}}}
    )
    found = " / ".join(str(p) for p in plan_save(index, "m.pt").warnings)
    assert "the parameter ids (1) are not carried over" in found
    assert "the scalars (1) are not carried over" in found
    assert "the metadata (1 entries) is not carried over" in found


@pytest.mark.parametrize("checksums", list(Checksums))
def test_members_beyond_4_gib_have_wide_sizes(checksums):
    archive = ZipLayout(checksums)
    size = (1 << 32) + 5
    first = archive.add_block("a", size, "a")
    second = archive.add_block("b", 3, "b")
    frames, total = archive.close()
    assert first % 64 == second % 64 == 0
    assert second > size
    end = frames[-1].content
    assert end[:4] == b"PK\x06\x06"
    directory = frames[-3].content + frames[-2].content
    assert struct.unpack_from("<HHQQ", directory, 46 + 1) == (1, 16, size, size)
    (offset,) = struct.unpack_from("<Q", frames[-2].content, 46 + 1 + 4)
    header = next(f for f in frames if f.offset == offset)
    assert header.content[:4] == b"PK\x03\x04"
    assert total == frames[-1].offset + len(end)


def test_many_members_have_a_wide_count():
    archive = ZipLayout(Checksums.BEHIND)
    for number in range(65536):
        archive.add_block(f"{number}", 0, f"{number}")
    assert archive.close()[0][-1].content[:4] == b"PK\x06\x06"
