"""ONNX models that are damaged or lie about sizes, and the sentence that each gets."""

import pytest

from ruda.errors import (
    FileAccessError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.testing.foreign_bytes import onnx_external, onnx_raw, onnx_tensor, proto, varint

FOUR = proto(9, bytes(16))
W = onnx_tensor("w", 1, (2, 2), FOUR)


def beside(location, **facts):
    """A model whose only tensor lies in another file."""
    return onnx_raw(onnx_tensor("w", 1, (2, 2), onnx_external(location, **facts)))


def tensor(*fields):
    """A model whose only tensor has these fields."""
    return onnx_raw(proto(5, b"".join(fields)))


CASES = [
    pytest.param(
        onnx_raw(W, head=b""),
        HeaderError,
        "byte 0: has no version of the ONNX format, so it is no ONNX model",
        id="no version",
    ),
    pytest.param(
        onnx_raw(W, head=proto(1, 0)),
        HeaderError,
        "byte 0: has no version of the ONNX format, so it is no ONNX model",
        id="version 0",
    ),
    pytest.param(
        onnx_raw(W, head=proto(1, 8) * 2),
        HeaderError,
        "byte 2: the model has a second version",
        id="two versions",
    ),
    pytest.param(
        onnx_raw(W) + onnx_raw(W, head=b""),
        HeaderError,
        "byte 43: the model has a second graph",
        id="two graphs",
    ),
    pytest.param(
        proto(1, 8) + proto(8, b""),
        TruncatedFileError,
        "has no graph; the file is cut short or no ONNX model",
        id="no graph",
    ),
    pytest.param(
        onnx_raw(W, tail=b""),
        TruncatedFileError,
        "byte 39: does not say which operators it uses, as every model does at its end; "
        "the file is cut short, get it again",
        id="no operators: cut behind the graph",
    ),
    pytest.param(
        proto(1, 8) + proto(7, 5) + proto(8, b""),
        HeaderError,
        "byte 2: field 7 of the model has wire type 0, expected 2",
        id="a graph that is a number",
    ),
    pytest.param(
        onnx_raw(W) + b"\x00\x00",
        HeaderError,
        "byte 43: the model has a field of number 0",
        id="a field of number 0",
    ),
    pytest.param(
        onnx_raw(W) + b"\x5b",
        HeaderError,
        "byte 43: the model has a field of wire type 3, and none is",
        id="a field of a group",
    ),
    pytest.param(
        onnx_raw(W) + b"\x80" * 9,
        TruncatedFileError,
        "byte 43: the model ends within a number; the file is damaged or cut short",
        id="a number without an end",
    ),
    pytest.param(
        onnx_raw(W) + b"\x80" * 11,
        HeaderError,
        "byte 43: the model has a number of more than 10 bytes",
        id="a number of eleven bytes",
    ),
    pytest.param(
        onnx_raw(W) + b"\x08" + b"\xff" * 9 + b"\x7f",
        HeaderError,
        "byte 44: the model has a number of more than 64 bits",
        id="a number of 70 bits",
    ),
    pytest.param(
        proto(1, 8) + b"\x3a" + varint(1 << 60),
        TruncatedFileError,
        "byte 2: field 7 of the model has 1152921504606846976 bytes, but 0 are left; the "
        "file is damaged or cut short",
        id="a graph of 2^60 bytes",
    ),
    pytest.param(
        onnx_raw(W, head=proto(1, 8) + proto(2, b"\xff")),
        HeaderError,
        "byte 2: a text is no UTF-8: b'\\xff'",
        id="a producer that is no text",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (1 << 40, 2), FOUR)),
        OffsetError,
        "byte 26: 'w' has 16 bytes, but f32 [1099511627776, 2] needs 8796093022208",
        id="a tensor of 2^40 rows",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (1 << 40, 1 << 40), FOUR)),
        OffsetError,
        "'w' has a shape whose size does not fit in 64 bits",
        id="a shape that overflows",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (-1, 4), FOUR)),
        OffsetError,
        "byte 10: 'w' has an axis of -1, a negative size",
        id="a negative axis",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (1,) * 1000, FOUR)),
        HeaderError,
        "byte 142: a tensor has more than 64 axes",
        id="1000 axes",
    ),
    pytest.param(
        tensor(proto(1, b"\x82"), proto(2, 1), FOUR),
        HeaderError,
        "byte 12: the shape of a tensor: a list of numbers ends within a number",
        id="a shape in a run that is cut",
    ),
    pytest.param(
        tensor(b"\x0d" + bytes(4), proto(2, 1), FOUR),
        HeaderError,
        "byte 12: the shape of a tensor has an unexpected form",
        id="a shape of floats",
    ),
    pytest.param(
        tensor(proto(1, 4), proto(8, "w"), FOUR),
        UnsupportedContentError,
        "byte 10: 'w' has the type number 0, which Ruda does not know",
        id="no type",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 99, (4,), FOUR)),
        UnsupportedContentError,
        "byte 10: 'w' has the type number 99, which Ruda does not know",
        id="a type of no number",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (4,))),
        OffsetError,
        "byte 10: 'w' has 0 bytes, but f32 [4] needs 16",
        id="no values",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (4,), FOUR, proto(4, bytes(16)))),
        HeaderError,
        "byte 10: 'w' has its values in 2 places, expected one",
        id="values in two places",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (4,), FOUR, FOUR)),
        HeaderError,
        "byte 37: field 9 of a tensor is there twice or of another wire type",
        id="raw values twice",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (5,), FOUR)),
        OffsetError,
        "byte 19: 'w' has 16 bytes, but f32 [5] needs 20",
        id="raw values that are too few",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (5,), proto(4, bytes(16)))),
        OffsetError,
        "byte 19: 'w' has 16 bytes, but f32 [5] needs 20",
        id="typed values that are too few",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (2,), proto(7, b"\x01\x02"))),
        HeaderError,
        "byte 19: 'w' has f32 values in int64_data",
        id="values in the list of another type",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 7, (1 << 40,), proto(7, bytes(9)))),
        OffsetError,
        "byte 24: 'w' has 9 bytes of values of varying length, which cannot be the "
        "1099511627776 of i64 [1099511627776]",
        id="more numbers than bytes",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 7, (3,), proto(7, varint(300) * 2))),
        OffsetError,
        "byte 19: 'w' has 2 values, expected 3",
        id="fewer numbers than the shape has",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 7, (2,), proto(7, b"\x01\x81"))),
        HeaderError,
        "byte 19: 'w': a list of numbers ends within a number",
        id="a run that ends within a number",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 3, (1,), proto(5, varint(300)))),
        HeaderError,
        "byte 19: 'w' has the value 300, which is no i8",
        id="a number that does not fit",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 9, (1,), proto(5, varint(2)))),
        HeaderError,
        "byte 19: 'w' has the value 2, which is no bool",
        id="a truth value of 2",
    ),
    pytest.param(
        onnx_raw(onnx_tensor("w", 1, (4,), FOUR, proto(3, b""))),
        UnsupportedContentError,
        "byte 37: a tensor is one segment of a larger one, which Ruda does not read",
        id="one segment of a tensor",
    ),
    pytest.param(
        onnx_raw(W, W),
        HeaderError,
        "byte 39: the graph has two initialisers called 'w'",
        id="one name twice",
    ),
    pytest.param(
        tensor(proto(1, 4), proto(2, 1), proto(8, b"\xff"), FOUR),
        HeaderError,
        "byte 16: the name of a tensor is no UTF-8: b'\\xff'",
        id="a name that is no text",
    ),
    pytest.param(
        onnx_raw(W, proto(15, b"")),
        HeaderError,
        "byte 39: a sparse tensor has 0 of its 2 parts and 0 axes",
        id="a sparse initialiser of nothing",
    ),
    pytest.param(
        beside("nope.bin", offset=0, length=16),
        FileAccessError,
        "'w' lies in 'nope.bin', which cannot be opened; it belongs beside the model, so "
        "get it, too",
        id="values in a file that is not there",
    ),
    pytest.param(
        beside("../w.bin"),
        HeaderError,
        "byte 10: 'w' lies in '../w.bin', which is no plain path within the folder of the model",
        id="values in the parent folder",
    ),
    pytest.param(
        beside("a/../../w.bin"),
        HeaderError,
        "byte 10: 'w' lies in 'a/../../w.bin', which is no plain path within the folder of "
        "the model",
        id="values behind two folders",
    ),
    pytest.param(
        beside("/etc/passwd"),
        HeaderError,
        "byte 10: 'w' lies in '/etc/passwd', which is no plain path within the folder of the model",
        id="values at an absolute path",
    ),
    pytest.param(
        beside("C:w.bin"),
        HeaderError,
        "byte 10: 'w' lies in 'C:w.bin', which is no plain path within the folder of the model",
        id="values on a drive",
    ),
    pytest.param(
        beside("..\\w.bin"),
        HeaderError,
        "byte 10: 'w' lies in '..\\\\w.bin', which is no plain path within the folder of the model",
        id="values behind backslashes",
    ),
    pytest.param(
        beside(""),
        HeaderError,
        "byte 10: 'w' lies in '', which is no plain path within the folder of the model",
        id="values nowhere",
    ),
    pytest.param(
        beside("file.onnx", offset=1 << 40, length=16),
        TruncatedFileError,
        "byte 10: 'w' ends at byte 1099511627792 of file.onnx, which has 89 bytes; that "
        "file is cut short or of another model",
        id="values in the model, behind its end",
    ),
    pytest.param(
        beside("file.onnx", offset=0, length=15),
        OffsetError,
        "byte 10: 'w' has 15 bytes, but f32 [2, 2] needs 16",
        id="values in the model, of another length",
    ),
    pytest.param(
        beside("file.onnx", offset="-1"),
        HeaderError,
        "byte 10: 'w' has the offset '-1', expected a whole number",
        id="values at a place that is no number",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".onnx") == (kind, text)
