"""Small pickles that would fill the memory, or call in circles, and the sentence that each gets."""

import io
import zipfile

import pytest

from ruda.errors import HeaderError, OffsetError, UnsafeContentError, UnsupportedContentError
from ruda.testing.file_bytes import (
    APPEND,
    FALSE,
    LIST,
    MARK,
    NONE,
    TUPLE,
    call,
    group,
    name,
    number,
    script,
    table,
    text,
    torch_storage,
    torch_tensor,
    torch_zip_raw,
)

FOUR = {"0": bytes(16)}
GOOD = torch_tensor(torch_storage("0", 4), (2, 2))
FROM_TYPE = "torch._tensor._rebuild_from_type_v2"
PUT, GET, DROP = b"q\0", b"h\0", b"0"


def acts(*parts, protocol=2, **options):
    """A checkpoint whose pickle has these instructions."""
    return torch_zip_raw(script(*parts, protocol=protocol), FOUR, **options)


def again(value, times, full, *more):
    """A list of what a call makes of one remembered value, many times over."""
    made = call(full, GET, *more)
    return acts(value, PUT, DROP, LIST, (made + APPEND) * times)


def of_class(depth):
    """A tensor of a class that is rebuilt from one that is rebuilt from one."""
    inner = name("torch._utils._rebuild_tensor_v2"), name("torch.Tensor"), MARK + TUPLE
    args = group(*inner, NONE)
    for _ in range(depth):
        args = group(name(FROM_TYPE), name("torch.Tensor"), args, NONE)
    return acts(table({"w": name(FROM_TYPE) + args + b"R"}))


def quantized(scale, zero):
    """A tensor with one scale and one zero point."""
    two = group(number(2), number(2))
    fields = torch_storage("0", 16, "torch.QInt8Storage"), number(0), two
    steps = group(number(2), number(1))
    meant = group(text("per_tensor_affine"), scale, zero)
    return acts(table({"w": call("torch._utils._rebuild_qtensor", *fields, steps, meant, FALSE)}))


AGAIN = "the pickle copies its own parts again and again; it would only fill the memory"
UNSAFE = "which could run code; nothing was run, and the file is refused"
BOMB = acts(LIST * (20 << 20), deflate=True)
PACKED = zipfile.ZipFile(io.BytesIO(BOMB)).getinfo("archive/data.pkl").compress_size
PAIRS = b"](" + b"".join(group(number(n), NONE) for n in range(2000)) + b"e"
CASES = [
    pytest.param(
        again(text("x" * 50_000), 2000, "_codecs.encode", text("latin1")),
        UnsupportedContentError,
        AGAIN,
        id="one text as bytes, many times",
    ),
    pytest.param(
        again(PAIRS, 2000, "collections.OrderedDict"),
        UnsupportedContentError,
        AGAIN,
        id="one list as a dict, many times",
    ),
    pytest.param(
        again(b"](" + NONE * 5000 + b"e", 2000, "builtins.list"),
        UnsupportedContentError,
        AGAIN,
        id="one list as a list, many times",
    ),
    pytest.param(
        again(b"](" + NONE * 5000 + b"e", 2000, "builtins.set"),
        UnsupportedContentError,
        AGAIN,
        id="one list as a set, many times",
    ),
    pytest.param(
        BOMB,
        UnsupportedContentError,
        f"archive/data.pkl would inflate from {PACKED} to 20971523 bytes, more than 100 times; "
        "it would only fill the memory",
        id="a pickle that inflates a thousandfold",
    ),
    pytest.param(
        of_class(1),
        HeaderError,
        "a tensor of a class is rebuilt from another one",
        id="a call in a call",
    ),
    pytest.param(
        of_class(2000),
        HeaderError,
        "a tensor of a class is rebuilt from another one",
        id="two thousand calls in each other",
    ),
    pytest.param(
        quantized(number(10**400), number(0)),
        HeaderError,
        "the scale or the zero point of a tensor is no number",
        id="a scale beyond any float",
    ),
    pytest.param(
        quantized(b"G" + bytes(8), number(1 << 63)),
        HeaderError,
        "the scale or the zero point of a tensor is no number",
        id="a zero point beyond 64 bits",
    ),
    *(
        pytest.param(
            acts(table({"a": call(full, text("x")), "w": GOOD})),
            UnsafeContentError,
            f"the pickle in it asks for {full}, {UNSAFE}",
            id=full,
        )
        for full in (
            "logging.FileHandler",
            "logging.handlers.SocketHandler",
            "mailbox.Maildir",
            "rlcompleter.Completer",
            "numpy.lib.npyio.NpzFile",
            "torch._C.PyTorchFileReader",
            "torch.package.PackageImporter",
        )
    ),
]


@pytest.mark.parametrize(("raw", "kind", "sentence"), CASES)
def test_refused(refused, raw, kind, sentence):
    found, said = refused(raw, ".pt")
    assert found is kind
    assert said.partition(": ")[2] == sentence


def test_a_place_outside_a_sparse_tensor_is_said_with_the_file(refused):
    layout = call("torch.serialization._get_layout", text("torch.sparse_coo"))
    places = torch_tensor(torch_storage("1", 1, "torch.LongStorage"), (1, 1))
    value = torch_tensor(torch_storage("0", 4), (1,))
    parts = group(places, value, group(number(3)), FALSE)
    pickled = script(table({"w": call("torch._utils._rebuild_sparse_tensor", layout, parts)}))
    raw = torch_zip_raw(pickled, {**FOUR, "1": (3).to_bytes(8, "little")})
    found, said = refused(raw, ".pt")
    assert found is OffsetError
    assert said == "a sparse tensor has a value outside its shape [3]"
