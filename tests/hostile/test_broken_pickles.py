"""Pickles that are damaged or lie about sizes, and the sentence that each gets."""

import struct

import pytest

from ruda.errors import (
    HeaderError,
    KeyCollisionError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.testing.file_bytes import (
    APPEND,
    BUILD,
    DICT,
    EMPTY_TUPLE,
    FALSE,
    LIST,
    MARK,
    NONE,
    PERSID,
    REDUCE,
    SETITEM,
    SETITEMS,
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

GOOD = torch_tensor(torch_storage("0", 4), (2, 2))
FOUR = {"0": bytes(16)}


def acts(*parts, protocol=2):
    """A checkpoint whose pickle has these instructions."""
    return torch_zip_raw(script(*parts, protocol=protocol), FOUR)


def view(shape, strides=None, offset=0, *, numel=4, cls="torch.FloatStorage"):
    """A checkpoint with one tensor ``w`` over a storage of 16 bytes."""
    tensor = torch_tensor(torch_storage("0", numel, cls), shape, strides, offset)
    return acts(table({"w": tensor}))


def quantized(*quantizer, cls="torch.QInt8Storage"):
    """A checkpoint with one quantized tensor ``w`` of shape (2, 2)."""
    two = group(number(2), number(2))
    fields = torch_storage("0", 4, cls), number(0), two, group(number(2), number(1))
    rebuilt = call("torch._utils._rebuild_qtensor", *fields, group(*quantizer), FALSE, NONE)
    return acts(table({"w": rebuilt}))


TOLD = [
    ("nothing", ""),
    ("a call", "('storage', __import__('os').getcwd(), '0', 'cpu', 4)"),
    ("a negative size", "('storage', <class 'torch.FloatStorage'>, '0', 'cpu', -4)"),
    ("a quote", "('storage', <class 'torch.FloatStorage'>, '0', 'c\\'pu', 4)"),
]
"""Persistent ids that PyTorch would not write in protocol 0."""

CASES = [
    pytest.param(
        torch_zip_raw(b"\x80\x02}"),
        TruncatedFileError,
        "byte 49: the pickle ends early: an instruction should follow",
        id="no STOP",
    ),
    pytest.param(
        torch_zip_raw(b""),
        TruncatedFileError,
        "byte 46: the pickle ends early: an instruction should follow",
        id="nothing",
    ),
    pytest.param(
        acts(NONE + NONE),
        HeaderError,
        "byte 51: the pickle is damaged: the pickle ends with values left over",
        id="values left over",
    ),
    pytest.param(
        acts(),
        HeaderError,
        "byte 49: the pickle is damaged: an instruction finds no value to work on",
        id="STOP on nothing",
    ),
    pytest.param(
        acts(MARK),
        HeaderError,
        "byte 50: the pickle is damaged: an instruction finds no value to work on",
        id="STOP on a mark",
    ),
    pytest.param(
        acts(b"\xfe"),
        HeaderError,
        "byte 48: the pickle is damaged: 0xfe is no pickle instruction",
        id="unknown instruction",
    ),
    pytest.param(
        acts(DICT, protocol=99),
        UnsupportedContentError,
        "byte 48: the pickle has protocol 99, and Ruda reads up to 5",
        id="protocol 99",
    ),
    pytest.param(
        acts(TUPLE),
        HeaderError,
        "byte 49: the pickle is damaged: an instruction needs a mark, and there is none",
        id="TUPLE without a mark",
    ),
    pytest.param(
        acts(DICT + MARK + text("a") + SETITEMS),
        HeaderError,
        "byte 57: the pickle is damaged: a dict gets a key without a value",
        id="SETITEMS with a key only",
    ),
    pytest.param(
        acts(LIST + NONE + NONE + SETITEM),
        HeaderError,
        "byte 52: the pickle is damaged: a list is filled like a dict",
        id="SETITEM on a list",
    ),
    pytest.param(
        acts(DICT + NONE + APPEND),
        HeaderError,
        "byte 51: the pickle is damaged: a dict is extended like a list",
        id="APPEND on a dict",
    ),
    pytest.param(
        acts(DICT + DICT + NONE + SETITEM),
        HeaderError,
        "byte 52: the pickle is damaged: a dict is used as a dict key",
        id="a dict as a key",
    ),
    pytest.param(
        acts(b"h\x07"),
        HeaderError,
        "byte 50: the pickle is damaged: memo slot 7 is read before it is written",
        id="memo that was not written",
    ),
    pytest.param(
        acts(b"gx\n"),
        HeaderError,
        "byte 51: the pickle is damaged: 'x' is no whole number",
        id="memo text that is no number",
    ),
    pytest.param(
        acts(b"X" + struct.pack("<I", 1 << 31)),
        TruncatedFileError,
        "byte 53: the pickle ends early: 2147483648 bytes should follow",
        id="text behind the end",
    ),
    pytest.param(
        acts(b"\x8d" + struct.pack("<Q", 1 << 63), protocol=4),
        TruncatedFileError,
        "byte 57: the pickle ends early: 9223372036854775808 bytes should follow",
        id="text of 2 to the 63 bytes",
    ),
    pytest.param(
        acts(b"X\x01\0\0\0\xff"),
        HeaderError,
        "byte 54: the pickle is damaged: text is not valid UTF-8",
        id="text that is not UTF-8",
    ),
    pytest.param(
        acts(b"\x95" + struct.pack("<Q", 1 << 40), protocol=4),
        TruncatedFileError,
        "byte 57: the pickle ends early: a frame of 1099511627776 bytes should follow",
        id="frame behind the end",
    ),
    pytest.param(
        acts(b"\x8b" + struct.pack("<i", -1)),
        HeaderError,
        "byte 53: the pickle is damaged: a whole number of 4294967295 bytes",
        id="negative LONG4",
    ),
    pytest.param(
        acts(b"\x8b" + struct.pack("<I", 1_000_000) + bytes(1_000_000)),
        HeaderError,
        "byte 53: the pickle is damaged: a whole number of 1000000 bytes",
        id="number of a million bytes",
    ),
    pytest.param(
        acts(b"I" + b"1" * 10_000 + b"\n"),
        HeaderError,
        "byte 10050: the pickle is damaged: a whole number has 10000 digits",
        id="number of 10000 digits",
    ),
    pytest.param(
        acts(b"Ix\n"),
        HeaderError,
        "byte 51: the pickle is damaged: 'x' is no whole number",
        id="no number",
    ),
    pytest.param(
        acts(b"Fx\n"),
        HeaderError,
        "byte 51: the pickle is damaged: 'x' is no number",
        id="no float",
    ),
    pytest.param(
        acts(b"Sx\n"),
        HeaderError,
        "byte 51: the pickle is damaged: a string has no quotes",
        id="string without quotes",
    ),
    pytest.param(
        acts(b"\x97", protocol=5),
        UnsupportedContentError,
        "byte 49: the pickle keeps data outside itself (out-of-band buffers)",
        id="out-of-band buffer",
    ),
    pytest.param(
        acts(NONE + NONE + b"\x93", protocol=4),
        HeaderError,
        "byte 51: the pickle is damaged: a name is not made of two texts",
        id="name of two numbers",
    ),
    pytest.param(
        acts(text("x") + EMPTY_TUPLE + REDUCE),
        HeaderError,
        "byte 56: the pickle is damaged: a str is called",
        id="a text is called",
    ),
    pytest.param(
        acts(name("collections.OrderedDict") + NONE + REDUCE),
        HeaderError,
        "byte 75: the pickle is damaged: collections.OrderedDict is called with a "
        "NoneType, expected a tuple",
        id="arguments no tuple",
    ),
    pytest.param(
        acts(text("x") + DICT + BUILD),
        HeaderError,
        "byte 56: the pickle is damaged: a str is given a state",
        id="a text is built",
    ),
    pytest.param(
        acts(text("0") + PERSID),
        HeaderError,
        "byte 55: a persistent id is '0', which names no storage",
        id="persistent id a text",
    ),
    *(
        pytest.param(
            acts(text(told) + PERSID),
            HeaderError,
            f"byte {54 + len(told)}: a persistent id is {told!r}, which names no storage",
            id=f"persistent id a text of {what}",
        )
        for what, told in TOLD
    ),
    pytest.param(
        acts(text("('storage', <class 'os.system'>, '0', 'cpu', 4)") + PERSID),
        UnsupportedContentError,
        "byte 101: os.system is no storage class that Ruda knows, so its elements cannot be told "
        "apart",
        id="persistent id a text of another class",
    ),
    pytest.param(
        acts(group(text("storage"), NONE) + PERSID),
        HeaderError,
        "byte 64: a persistent id does not have the fields of a storage",
        id="persistent id of other fields",
    ),
    pytest.param(
        view((2, 2), cls="collections.OrderedDict"),
        UnsupportedContentError,
        "byte 147: collections.OrderedDict is no storage class that Ruda knows, so its "
        "elements cannot be told apart",
        id="storage class a dict",
    ),
    pytest.param(
        view((2, 2), cls="torch.QUInt4x2Storage"),
        UnsupportedContentError,
        "byte 145: torch.QUInt4x2Storage is no storage class that Ruda knows, so its "
        "elements cannot be told apart",
        id="storage of quantized halves of bytes",
    ),
    pytest.param(
        view((2, 2), cls="torch.QInt8Storage"),
        HeaderError,
        "byte 191: a quantized tensor has no quantizer",
        id="quantized numbers without a quantizer",
    ),
    pytest.param(
        acts(table({"w": torch_tensor(torch_storage("0", 4, location=number(1)), (2, 2))})),
        HeaderError,
        "byte 137: storage '0' has a location that is no text",
        id="location a number",
    ),
    pytest.param(
        view((2, 2), numel=-4),
        OffsetError,
        "byte 142: storage '0' claims -4 elements",
        id="storage of -4 elements",
    ),
    pytest.param(
        view((2, 2), numel=1 << 40),
        OffsetError,
        "byte 242: storage '0' should have 4398046511104 bytes, but archive/data/0 has 16",
        id="storage of 2 to the 40 elements",
    ),
    pytest.param(
        view((2, 2), numel=1 << 70),
        OffsetError,
        "byte 150: storage '0' claims 1180591620717411303424 elements",
        id="storage of 2 to the 70 elements",
    ),
    pytest.param(
        acts(table({"w": torch_tensor(torch_storage("99", 4), (2, 2))})),
        HeaderError,
        "the pickle uses storage '99', which is not in the archive",
        id="storage that is not there",
    ),
    pytest.param(
        acts(table({"w": torch_tensor(torch_storage("../data.pkl", 4), (2, 2))})),
        HeaderError,
        "the pickle uses storage '../data.pkl', which is not in the archive",
        id="storage named out of its folder",
    ),
    pytest.param(
        acts(
            table({"a": GOOD, "b": torch_tensor(torch_storage("0", 4, "torch.IntStorage"), (4,))})
        ),
        HeaderError,
        "byte 281: storage '0' is used as f32 and as i32; one of the readings would be wrong",
        id="storage of two types",
    ),
    pytest.param(
        acts(table({"a": GOOD, "b": torch_tensor(torch_storage("0", 2), (2,))})),
        HeaderError,
        "byte 283: storage '0' has 4 elements in one place and 2 in another",
        id="storage of two sizes",
    ),
    pytest.param(
        acts(table({"w": torch_tensor(NONE, (2, 2))})),
        HeaderError,
        "byte 140: a tensor has no typed storage",
        id="tensor without a storage",
    ),
    pytest.param(
        view((2, 2), (-2, -1), 3),
        OffsetError,
        "byte 191: a tensor has the strides [-2, -1]; negative or too large numbers",
        id="view of negative strides",
    ),
    pytest.param(
        view((-2, -2), (2, 1)),
        OffsetError,
        "byte 191: a tensor has the shape [-2, -2]; negative or too large numbers",
        id="view of negative sizes",
    ),
    pytest.param(
        view((2, 2), (2, 1), -1),
        OffsetError,
        "byte 191: a view of storage '0' starts at element -1",
        id="view of negative offset",
    ),
    pytest.param(
        view((2, 2), (2, 1), 1),
        OffsetError,
        "byte 191: a view of storage '0' ends at element 5, but the storage has 4",
        id="view behind the end",
    ),
    pytest.param(
        view((2, 2), (3, 1)),
        OffsetError,
        "byte 191: a view of storage '0' ends at element 5, but the storage has 4",
        id="view by stride behind the end",
    ),
    pytest.param(
        view((2, 2), (2, 1), (1 << 63) - 1),
        OffsetError,
        "byte 198: a view of storage '0' ends at element 9223372036854775811, but the "
        "storage has 4",
        id="offset that overflows",
    ),
    pytest.param(
        view((1 << 40, 1 << 40), (0, 0)),
        OffsetError,
        "byte 201: a view of storage '0' has a shape whose size does not fit in 64 bits",
        id="shape that overflows",
    ),
    pytest.param(
        view((1 << 35,), (0,)),
        UnsupportedContentError,
        "byte 189: an expanded view of storage '0' would fill 137438953472 bytes out of 16",
        id="expanded beyond reason",
    ),
    pytest.param(
        view((1,) * 1000),
        UnsupportedContentError,
        "byte 6179: a tensor has 1000 axes, the limit is 64",
        id="rank 1000",
    ),
    pytest.param(
        view((2, 2), (2,)),
        HeaderError,
        "byte 188: a tensor has 2 axes and 1 strides",
        id="fewer strides than axes",
    ),
    pytest.param(
        acts(
            table(
                {
                    "w": call(
                        "torch._utils._rebuild_tensor_v2",
                        torch_storage("0", 4),
                        number(0),
                        group(text("2")),
                        group(text("1")),
                        FALSE,
                        NONE,
                    )
                }
            )
        ),
        HeaderError,
        "byte 165: the shape of a tensor are no whole numbers",
        id="shape of texts",
    ),
    pytest.param(
        acts(table({"w": call("torch._utils._rebuild_tensor_v2", torch_storage("0", 4))})),
        HeaderError,
        "byte 144: the pickle is damaged: torch._utils._rebuild_tensor_v2 is called "
        "with unexpected values",
        id="too few arguments",
    ),
    pytest.param(
        acts(table({"w": call("torch._utils._rebuild_parameter", text("x"), FALSE, NONE)})),
        HeaderError,
        "byte 100: a parameter is made from something that is no tensor",
        id="parameter of a text",
    ),
    pytest.param(
        acts(
            table(
                {
                    "w": torch_tensor(
                        torch_storage("0", 16, "torch.storage.UntypedStorage"), (4,), dtype="nn"
                    )
                }
            )
        ),
        UnsupportedContentError,
        "byte 205: torch.nn is no torch dtype that Ruda knows",
        id="dtype that is no dtype",
    ),
    pytest.param(
        acts(table({"w": call("torch._utils._rebuild_nested_tensor", NONE)})),
        UnsupportedContentError,
        "byte 97: the file holds a tensor of the kind 'nested tensor', which Ruda does not read",
        id="nested tensor",
    ),
    pytest.param(
        quantized(name("torch.per_tensor_affine"), number(1), NONE),
        HeaderError,
        "byte 194: the scale or the zero point of a tensor is no number",
        id="zero point none",
    ),
    pytest.param(
        quantized(name("torch.per_tensor_affine"), number(1)),
        HeaderError,
        "byte 193: the scale or the zero point of a tensor is no number",
        id="quantizer without a zero point",
    ),
    pytest.param(
        quantized(name("torch.nn.x"), number(1), number(1)),
        UnsupportedContentError,
        "byte 183: a tensor is quantized by the scheme 'x', which Ruda does not read",
        id="unknown quantizer",
    ),
    pytest.param(
        quantized(name("torch.per_channel_affine"), LIST, LIST, number(2)),
        HeaderError,
        "byte 196: a tensor of shape [2, 2] is quantized along axis 2",
        id="quantized along an axis that is not there",
    ),
    pytest.param(
        quantized(name("torch.per_channel_affine"), LIST, LIST, number(1)),
        HeaderError,
        "byte 196: a tensor of shape [2, 2] has no scales for each place along axis 1",
        id="too few scales",
    ),
    pytest.param(
        quantized(name("torch.per_tensor_affine"), number(1), number(1), cls="torch.CharStorage"),
        HeaderError,
        "byte 195: a quantized tensor has numbers of the dtype i8",
        id="quantized numbers of a plain storage",
    ),
    pytest.param(
        acts(table({"w": call("torch._utils._rebuild_device_tensor_from_numpy", NONE, NONE)})),
        HeaderError,
        "byte 109: the values of a tensor are no NumPy array",
        id="array that is none",
    ),
    pytest.param(
        acts(table({"a": table({"b.c": GOOD}), "a.b": table({"c": GOOD})})),
        KeyCollisionError,
        "'a > b.c' and 'a.b > c' would both become 'a.b.c' by joining with dots",
        id="two tensors under one key",
    ),
    pytest.param(
        acts((DICT + text("a")) * 1001 + GOOD + SETITEM * 1001),
        UnsupportedContentError,
        "the pickle is nested deeper than 1000 levels, no checkpoint is",
        id="1001 dicts deep",
    ),
    pytest.param(
        acts(EMPTY_TUPLE + b"\x85" * 500_000),
        UnsupportedContentError,
        "the pickle is nested deeper than 1000 levels, no checkpoint is",
        id="500000 tuples deep",
    ),
    pytest.param(
        acts(LIST * 200_000 + APPEND * 199_999),
        UnsupportedContentError,
        "the pickle is nested deeper than 1000 levels, no checkpoint is",
        id="200000 lists deep",
    ),
    pytest.param(
        acts(GOOD + b"".join(b"q\0" + b"0" + LIST + MARK + b"h\0h\0e" for _ in range(40))),
        HeaderError,
        "the pickle refers to its own parts so often that listing them takes more than "
        "21228 steps; no honest checkpoint does",
        id="2 to the 40 paths to one tensor",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".pt") == (kind, text)
