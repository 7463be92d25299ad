"""PyTorch checkpoints: what torch wrote is found exactly, and the tree of all the rest."""

import io
import json
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import (
    ChecksumError,
    HeaderError,
    MissingKeyError,
    SettingError,
    UnsafeContentError,
)
from ruda.store import dequantize, open_store
from ruda.tensor import DType
from ruda.testing import counted_reads
from ruda.testing.file_bytes import (
    APPENDS,
    BUILD,
    DICT,
    FALSE,
    LIST,
    MARK,
    NEWOBJ,
    NONE,
    SETITEM,
    call,
    group,
    name,
    number,
    safetensors_bytes,
    script,
    table,
    text,
    torch_legacy_raw,
    torch_storage,
    torch_tensor,
    torch_zip_bytes,
    torch_zip_raw,
)

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "torch"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
FOUR = np.arange(4, dtype="<f4")
EMBEDDED = torch_legacy_raw(script(torch_storage("0", 4)), [("0", 4, FOUR.tobytes())])
W = torch_tensor(torch_storage("0", 4), (2, 2))


def opened(tmp_path, raw, **options):
    path = tmp_path / "file.pt"
    path.write_bytes(raw)
    return open_store(path, **options)


def node(tree, *names):
    for each in names:
        tree = next(child for child in tree.children if child.name == each)
    return tree


@pytest.mark.parametrize("file", EXPECTED)
def test_what_torch_wrote_is_found(file):
    with open_store(GOLDEN / file) as index:
        found = {k: [str(s.dtype), list(s.shape), s.sha256()] for k, s in index.items()}
    assert found == EXPECTED[file]


def test_the_order_is_that_of_the_dicts():
    with open_store(GOLDEN / "views.pt") as index:
        assert list(index) == list(EXPECTED["views.pt"])


def test_the_tree_shows_everything_with_sizes():
    with open_store(GOLDEN / "training_2.pt") as index:
        tree = index.tree
        sizes = sum(s.nbytes for s in index.values())
    assert (tree.kind, tree.summary, tree.nbytes) == ("dict", "dict of 17", sizes)
    assert node(tree, "epoch").summary == "3"
    assert node(tree, "nothing").summary == "None"
    assert node(tree, "args").summary == "object of class argparse.Namespace (not loaded)"
    assert node(tree, "args", "lr").summary == "0.1"
    assert node(tree, "dtype").summary == "torch.float16 (a name, not loaded)"
    assert node(tree, "model", "0.weight").summary == "f32 [3, 4]"
    assert node(tree, "model", "0.weight").nbytes == 48
    assert node(tree, "optimizer", "param_groups", "0", "betas", "0").summary == "0.9"


def test_names_that_are_not_resolved_are_listed():
    with open_store(GOLDEN / "training_2.pt") as index:
        assert "argparse.Namespace" in index.unsafe
        assert "torch._utils._rebuild_tensor_v2" not in index.unsafe


def test_an_archive_without_checksums_says_so():
    with open_store(GOLDEN / "no_checksums.pt") as index:
        assert index.notes == ("the archive has no checksums, so damage to it cannot be seen",)


def test_facts_of_the_container_are_kept():
    with open_store(GOLDEN / "views.pt") as index:
        assert index.extra["container"] == "zip"
        assert index.extra["byteorder"] == "little"
    with open_store(GOLDEN / "views_legacy.pt") as index:
        assert index.extra["container"] == "legacy"
    with open_store(GOLDEN / "plain_0.pkl") as index:
        assert index.extra["container"] == "pickle"


@pytest.mark.parametrize("name", ["training_0.pt", "training_0_legacy.pt"])
def test_protocol_0_is_read_though_torch_does_not(name):
    with open_store(GOLDEN / name) as index:
        (note,) = index.notes
    assert note.startswith("the pickle has protocol 0, which PyTorch writes and does not load")


def test_tensors_that_share_memory_name_the_first():
    with open_store(GOLDEN / "views.pt") as index:
        shared = {key: s.shared_with for key, s in index.items()}
    assert shared["whole"] is None
    assert shared["transposed"] == "whole"
    assert shared["empty"] is None
    assert shared["channels_last"] is None


def test_slices_that_do_not_touch_share_nothing(tmp_path):
    halves = table(
        {
            "a": torch_tensor(torch_storage("0", 4), (2,)),
            "b": torch_tensor(torch_storage("0", 4), (2,), offset=2),
            "c": torch_tensor(torch_storage("0", 4), (2,), offset=1),
        }
    )
    with opened(tmp_path, torch_zip_raw(script(halves), {"0": FOUR.tobytes()})) as index:
        assert [s.shared_with for s in index.values()] == [None, None, "a"]
        assert index.nbytes == 16


@pytest.mark.parametrize("folder", ["", "archive/", "a b/ü/"])
@pytest.mark.parametrize("deflate", [False, True], ids=["stored", "deflated"])
def test_any_folder_and_both_methods(tmp_path, folder, deflate):
    raw = torch_zip_bytes({"w": FOUR}, folder=folder, deflate=deflate)
    with opened(tmp_path, raw) as index:
        np.testing.assert_array_equal(index["w"].read(), FOUR)


@pytest.mark.parametrize(
    ("array", "unit"),
    [
        pytest.param(np.arange(6, dtype="<f4"), 4, id="f32"),
        pytest.param(np.arange(6, dtype="<i2"), 2, id="i16"),
        pytest.param(np.arange(6, dtype="<f8"), 8, id="f64"),
        pytest.param(np.arange(6) * (1 + 2j), 8, id="c128 in halves"),
        pytest.param(np.arange(6, dtype="u1"), 1, id="u8"),
    ],
)
def test_big_endian_archives_are_turned_around(tmp_path, array, unit):
    little = torch_zip_bytes({"w": array})
    with zipfile.ZipFile(io.BytesIO(little)) as archive:
        pickled = archive.read("archive/data.pkl")
    stored = np.frombuffer(array.tobytes(), f"u{unit}").byteswap().tobytes()
    raw = torch_zip_raw(pickled, {"0": stored}, more={"archive/byteorder": b"big"})
    with opened(tmp_path, raw) as index:
        np.testing.assert_array_equal(index["w"].read(), array)
        assert b"".join(map(bytes, index["w"].chunks(5))) == array.tobytes()
        assert index["w"].origin.offset is None or unit == 1


def test_a_zip_comment_is_no_harm(tmp_path):
    raw = bytearray(torch_zip_bytes({"w": FOUR}))
    raw[-2:] = (300).to_bytes(2, "little")
    with opened(tmp_path, bytes(raw) + b"c" * 300) as index:
        assert list(index) == ["w"]


@pytest.mark.parametrize("folder", ["10:30/", "epoch:3/", "a/b:c/"])
def test_a_folder_named_after_a_file_with_a_colon(tmp_path, folder):
    with opened(tmp_path, torch_zip_bytes({"w": FOUR}, folder=folder)) as index:
        np.testing.assert_array_equal(index["w"].read(), FOUR)


def test_an_archive_behind_another_is_refused(tmp_path):
    """Its end can point into the first one, and programs disagree on which of them is meant."""
    with opened(tmp_path, zip64_ended(torch_zip_bytes({"w": FOUR}))) as index:
        assert list(index) == ["w"]
    raw = zip64_ended(torch_zip_bytes({"w": FOUR}))
    with pytest.raises(HeaderError, match=r"the zip64 directory end is damaged"):
        opened(tmp_path, raw + raw)


def zip64_ended(raw):
    """An archive with the two long records at its end, as PyTorch writes it."""
    size, start = struct.unpack_from("<II", raw, len(raw) - 10)
    count = int.from_bytes(raw[-12:-10], "little")
    front = raw[: start + size]
    long = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
    return front + long + struct.pack("<4sIQI", b"PK\6\7", 0, len(front), 1) + raw[start + size :]


def test_a_slice_reads_what_it_needs(tmp_path):
    big = np.arange(100_000, dtype="<f4")
    part = torch_tensor(torch_storage("0", big.size), (10,), offset=500)
    with opened(tmp_path, torch_zip_raw(script(table({"s": part})), {"0": big.tobytes()})) as index:
        with counted_reads() as counter:
            np.testing.assert_array_equal(index["s"].read(), big[500:510])
        assert counter.bytes == 40


def test_damage_behind_half_a_storage_is_seen_by_who_reads_most_of_it(tmp_path):
    raw = torch_zip_bytes({"w": np.arange(64, dtype="<f4")})
    at = raw.index(np.arange(64, dtype="<f4").tobytes())
    with (
        opened(tmp_path, raw[:at] + b"\x01" + raw[at + 1 :]) as index,
        pytest.raises(ChecksumError, match=r"archive/data/0 is damaged"),
    ):
        list(index["w"].chunks(16))


KEYS = [
    pytest.param({"": W}, ["<root>"], id="empty key"),
    pytest.param({"a.": W}, ["a."], id="dot at the end"),
    pytest.param({"../../etc/passwd": W}, ["../../etc/passwd"], id="path"),
    pytest.param({"nul\0": W}, ["nul\0"], id="control character"),
    pytest.param({"a": LIST + W + b"a"}, ["a.0"], id="in a list"),
    pytest.param({"a": group(number(1), W)}, ["a.1"], id="in a tuple"),
    pytest.param({"a": DICT + number(7) + W + SETITEM}, ["a.7"], id="number for a key"),
    pytest.param({"a": DICT + group(number(1), text("b")) + W + SETITEM}, ["a.(1, b)"], id="pair"),
    pytest.param({"a": name("my.Net") + group(W) + NEWOBJ}, ["a.0"], id="in an object"),
]


@pytest.mark.parametrize(("items", "keys"), KEYS)
def test_keys_are_joined_with_dots(tmp_path, items, keys):
    raw = torch_zip_raw(script(table(items)), {"0": FOUR.tobytes()})
    with opened(tmp_path, raw) as index:
        assert list(index) == keys


def test_a_tensor_alone_is_the_root(tmp_path):
    with opened(tmp_path, torch_zip_raw(script(W), {"0": FOUR.tobytes()})) as index:
        assert list(index) == ["<root>"]


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("kind", ["tensor", "module"])
def test_a_plain_pickle_of_one_thing_is_read(tmp_path, kind, protocol):
    storage = call(
        "torch.storage._load_from_bytes",
        b"B" + len(EMBEDDED).to_bytes(4, "little") + EMBEDDED,
    )
    thing = torch_tensor(storage, (2, 2))
    if kind == "module":
        thing = name("my.Net") + b")" + NEWOBJ + table({"_parameters": table({"w": thing})}) + BUILD
    with opened(tmp_path, script(thing, protocol=protocol)) as index:
        ((key, found),) = index.items()
        np.testing.assert_array_equal(found.read(), FOUR.reshape(2, 2))
    assert key == ("<root>" if kind == "tensor" else "_parameters.w")


def test_arrays_of_numpy_are_said_to_be_left_out(tmp_path):
    array = np.arange(3.0)
    for n, protocol in enumerate((2, 4, 5)):
        raw = pickle.dumps({"w": {"a": array}, **{f"b{i}": array + i for i in range(n)}}, protocol)
        with opened(tmp_path, raw) as index:
            assert len(index) == 0
            said = {
                0: "w.a is a NumPy array and no tensor; it is not listed",
                1: "w.a and 1 more are NumPy arrays and no tensors; they are not listed",
                2: "w.a and 2 more are NumPy arrays and no tensors; they are not listed",
            }
            assert index.notes == (said[n],)


def test_a_dict_that_contains_itself_is_listed_once(tmp_path):
    looped = DICT + b"q\0" + text("w") + W + SETITEM + text("me") + b"h\0" + SETITEM
    with opened(tmp_path, torch_zip_raw(script(looped), {"0": FOUR.tobytes()})) as index:
        assert list(index) == ["w"]
        assert index.notes[0] == "me contains itself; it is listed once"


def test_an_expanded_view_within_reason_is_read(tmp_path):
    wide = torch_tensor(torch_storage("0", 4), (1000, 4), (0, 1))
    raw = torch_zip_raw(script(table({"w": wide})), {"0": FOUR.tobytes()})
    with opened(tmp_path, raw) as index:
        np.testing.assert_array_equal(index["w"].read(), np.broadcast_to(FOUR, (1000, 4)))


def test_one_axis_of_any_stride_is_contiguous(tmp_path):
    odd = torch_tensor(torch_storage("0", 4), (1, 4, 1), ((1 << 62), 1, 13))
    raw = torch_zip_raw(script(table({"w": odd})), {"0": FOUR.tobytes()})
    with opened(tmp_path, raw) as index:
        np.testing.assert_array_equal(index["w"].read(), FOUR.reshape(1, 4, 1))


TOP = torch_zip_raw(
    script(table({"state_dict": table({"w": W}), "epoch": number(3)})), {"0": FOUR.tobytes()}
)


def test_a_top_level_key_is_taken_off(tmp_path):
    with opened(tmp_path, TOP, top_level_key="state_dict") as index:
        assert list(index) == ["w"]


@pytest.mark.parametrize(
    ("key", "error", "sentence"),
    [
        pytest.param(
            "state_dikt",
            MissingKeyError,
            r"file\.pt: the checkpoint has no top-level key 'state_dikt'; it has state_dict, epoch",
            id="misspelled",
        ),
    ],
)
def test_a_wrong_top_level_key_gets_the_list(tmp_path, key, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        opened(tmp_path, TOP, top_level_key=key)
    assert caught.value.nearest == "state_dict"


def test_a_top_level_key_of_a_list_is_refused(tmp_path):
    with pytest.raises(MissingKeyError, match=r"is no dict, so it has no top-level key 'x'"):
        opened(tmp_path, torch_zip_raw(script(LIST)), top_level_key="x")


def test_a_top_level_key_of_another_format_is_refused(tmp_path):
    with pytest.raises(SettingError, match=r"this is a safetensors file"):
        opened(tmp_path, safetensors_bytes({"w": FOUR}), top_level_key="x")


def test_the_error_of_an_unsafe_pickle_has_the_names(tmp_path):
    bad = {"a": call("os.system", text("x")), "b": call("builtins.eval", text("1"))}
    with pytest.raises(UnsafeContentError, match=r"file\.pt: byte") as caught:
        opened(tmp_path, torch_zip_raw(script(table(bad))))
    assert caught.value.names == ("builtins.eval", "os.system")


def test_a_meta_tensor_is_not_invented(tmp_path):
    meta = call(
        "torch._utils._rebuild_meta_tensor_no_storage",
        name("torch.float32"),
        group(number(3)),
        group(number(1)),
        FALSE,
    )
    raw = torch_zip_raw(script(table({"m": meta, "w": W})), {"0": FOUR.tobytes()})
    with opened(tmp_path, raw) as index:
        assert list(index) == ["w"]
        assert index.notes == ("a meta tensor has a shape and no values; it is not listed",)


def test_bytes_behind_a_legacy_stream_are_noted(tmp_path):
    raw = torch_legacy_raw(script(table({"w": W})), [("0", 4, FOUR.tobytes())])
    with opened(tmp_path, raw + bytes(50)) as index:
        assert index.notes == ("50 bytes follow the last storage",)


def test_a_part_of_a_legacy_storage_starts_where_it_says(tmp_path):
    whole = group(
        text("storage"),
        name("torch.FloatStorage"),
        text("0"),
        text("cpu"),
        number(4),
        group(text("1"), number(2), number(2)),
    )
    part = torch_tensor(whole + b"Q", (2,))
    raw = torch_legacy_raw(script(table({"w": part})), [("0", 4, FOUR.tobytes())])
    with opened(tmp_path, raw) as index:
        np.testing.assert_array_equal(index["w"].read(), FOUR[2:])


def tar_of(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for member, raw in members.items():
            entry = tarfile.TarInfo(member)
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    return out.getvalue()


def storages_member(cls="torch.FloatStorage", parts=b""):
    head = pickle.dumps(1, 2) + script(group(number(100), text("cpu"), name(cls)))
    return head + (4).to_bytes(8, "little") + FOUR.tobytes() + parts


def test_a_tar_of_torch_0_1_is_read(tmp_path):
    tensors = pickle.dumps(1, 2) + script(
        group(number(200), number(300), name("torch.FloatTensor"))
    )
    rank, size, stride, offset = 1, 2, 1, 1
    tensors += b"".join(n.to_bytes(8, "little") for n in (rank, size, stride, offset))
    parts = script(LIST + group(number(300), number(100), number(1), number(3)) + b"a")
    raw = tar_of(
        {
            "sys_info": pickle.dumps({"protocol_version": 1000}, 2),
            "storages": storages_member(parts=parts),
            "tensors": tensors,
            "pickle": script(table({"w": text("200") + b"Q"})),
        }
    )
    with opened(tmp_path, raw) as index:
        assert index.extra["container"] == "tar"
        np.testing.assert_array_equal(index["w"].read(), FOUR[2:4])


def test_a_tar_with_storages_in_place_is_read(tmp_path):
    inline = group(text("storage"), name("torch.FloatStorage"), text("100"), text("cpu"), number(4))
    raw = tar_of(
        {
            "storages": storages_member(),
            "pickle": script(table({"w": torch_tensor(inline, (4,))})),
        }
    )
    with opened(tmp_path, raw) as index:
        np.testing.assert_array_equal(index["w"].read(), FOUR)


def test_fp4_pairs_are_raw_bytes(tmp_path):
    held = torch_storage("0", 3, "torch.storage.UntypedStorage")
    pairs = torch_tensor(held, (3,), dtype="float4_e2m1fn_x2")
    with opened(tmp_path, torch_zip_raw(script(table({"w": pairs})), {"0": b"\x12\x34\x56"})) as ix:
        assert (ix["w"].dtype, ix["w"].shape, ix["w"].nbytes) == (DType.F4_E2M1, (3,), 3)
        assert ix["w"].read().tobytes() == b"\x12\x34\x56"


@pytest.mark.cases
def test_real_models_are_read_exactly(cases):
    labels = {"float32": "f32", "int64": "i64"}
    wanted = json.loads((cases / "models" / "index.json").read_text())
    for model, file, prefix in (
        ("burn_import_mnist", "mnist.pt", "pt:"),
        ("crepe_tiny", "tiny.pth", ""),
        ("resnet20_cifar10", "resnet20-12fca82f.th", ""),
        ("digit_recognizer_cnn", "handwriting_model.pth", ""),
    ):
        with open_store(cases / "models" / model / file) as index:
            assert len(index) > 0
            for key, snapshot in index.items():
                want = wanted[model]["tensors"][prefix + key]
                found = (str(snapshot.dtype), list(snapshot.shape), snapshot.sha256())
                assert found == (labels[want["dtype"]], want["shape"], want["sha256"])


@pytest.mark.parametrize("file", ["quantized.pt", "quantized_legacy.pt"])
def test_quantized_tensors_give_the_values_of_torch(file):
    with open_store(GOLDEN / file) as index:
        keys = [key for key in index if not key.endswith(".values")]
        for key in keys:
            values = dequantize(index[key])
            assert (values.dtype, values.trail) == (
                DType.F32,
                (f"dequantize {index[key].dtype_label}",),
            )
            np.testing.assert_array_equal(values.read(), index[f"{key}.values"].read())
        assert len(keys) == 6
        assert index.notes[0].startswith("tensors are quantized as qint8; they are listed with")


def test_scales_in_a_list_are_taken_as_those_in_a_tensor(tmp_path):
    def listed(*values):
        return LIST + MARK + b"".join(number(value) for value in values) + APPENDS

    storage = torch_storage("0", 4, "torch.QInt8Storage")
    two, steps = group(number(2), number(2)), group(number(2), number(1))
    scheme = group(name("torch.per_channel_affine"), listed(2, 3), listed(0, 1), number(0))
    fields = storage, number(0), two, steps, scheme, FALSE, NONE
    state = table({"w": call("torch._utils._rebuild_qtensor", *fields)})
    with opened(tmp_path, torch_zip_raw(script(state), {"0": bytes([1, 2, 3, 4])})) as index:
        assert dequantize(index["w"]).read().tolist() == [[2.0, 4.0], [6.0, 9.0]]
        assert index["w"].read().tolist() == [1, 2, 3, 4]


def test_a_tensor_made_of_others_is_listed_by_its_parts(tmp_path):
    wrapper = call("torch._utils._rebuild_wrapper_subclass", name("torch.my.Pair"))
    made = call(
        "torch._tensor._rebuild_from_type_v2",
        name("torch._utils._rebuild_wrapper_subclass"),
        name("torch.my.Pair"),
        group(name("torch.my.Pair")),
        table({"scale": W}),
    )
    raw = torch_zip_raw(script(table({"a": made, "b": wrapper})), {"0": FOUR.tobytes()})
    with opened(tmp_path, raw) as index:
        assert list(index) == ["a.scale"]
        assert index.notes == (
            "a tensor of the class torch.my.Pair has no values of its own; its parts are listed "
            "below it",
        )


@pytest.mark.parametrize("legacy", [False, True], ids=["plain pickle", "legacy"])
def test_values_in_a_numpy_array_are_found_in_every_container(tmp_path, legacy):
    dtype = call("numpy.dtype", text("f4"), FALSE, FALSE)
    empty = call("numpy.core.multiarray._reconstruct", name("numpy.ndarray"), NONE, NONE)
    octets = call("_codecs.encode", text(FOUR.tobytes().decode("latin1")), text("latin1"))
    array = empty + group(number(1), group(number(4)), dtype, FALSE, octets) + BUILD
    fields = array, name("torch.bfloat16"), text("xla:0"), FALSE
    state = script(table({"w": call("torch._utils._rebuild_device_tensor_from_numpy", *fields)}))
    with opened(tmp_path, torch_legacy_raw(state) if legacy else state) as index:
        assert index["w"].dtype is DType.BF16
        assert index["w"].read().tolist() == [0, 1, 2, 3]
