"""Files that are something else, and the sentence that says what."""

import gzip
import lzma
import pickle

import pytest

from ruda.errors import TruncatedFileError, UnknownFormatError

CASES = [
    pytest.param(
        b"",
        TruncatedFileError,
        "the file is empty (0 bytes); the download or the save never finished, get it again",
        id="empty",
    ),
    pytest.param(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        UnknownFormatError,
        "is a Git LFS pointer, not the weights; fetch them with `git lfs pull`",
        id="git lfs pointer",
    ),
    pytest.param(
        b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>",
        UnknownFormatError,
        "is an HTML page, not the weights; the download got a login or error page, so "
        "open the address in a browser",
        id="html page",
    ),
    pytest.param(
        b"\xef\xbb\xbf  <html><body>404</body></html>",
        UnknownFormatError,
        "is an HTML page, not the weights; the download got a login or error page, so "
        "open the address in a browser",
        id="html page with a byte order mark",
    ),
    pytest.param(
        b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
        UnknownFormatError,
        "is an XML document, often a server's error message, not the weights",
        id="xml error",
    ),
    pytest.param(
        gzip.compress(b"weights", mtime=0),
        UnknownFormatError,
        "is compressed with gzip; unpack it first (`gunzip`)",
        id="gzip",
    ),
    pytest.param(
        b"\x28\xb5\x2f\xfd" + bytes(20),
        UnknownFormatError,
        "is compressed with Zstandard; unpack it first (`unzstd`)",
        id="zstandard",
    ),
    pytest.param(
        b"\xfd7zXZ\x00" + bytes(20),
        UnknownFormatError,
        "is compressed with xz; unpack it first (`unxz`)",
        id="xz",
    ),
    pytest.param(
        b"BZh91AY&SY" + bytes(20),
        UnknownFormatError,
        "is compressed with bzip2; unpack it first (`bunzip2`)",
        id="bzip2",
    ),
    pytest.param(
        b"%PDF-1.7\n", UnknownFormatError, "is a PDF document, not a weight file", id="pdf"
    ),
    pytest.param(
        b"\x89PNG\r\n\x1a\n" + bytes(20),
        UnknownFormatError,
        "is a PNG picture, not a weight file",
        id="png",
    ),
    pytest.param(
        bytes(4096),
        UnknownFormatError,
        "begins with zeros only; the download or the disk filled it, get the file again",
        id="zeros",
    ),
    pytest.param(
        b"the weights are on the other disk\n",
        UnknownFormatError,
        "is a text file that begins with 'the weights are on the other disk\\n', not the weights",
        id="text",
    ),
    pytest.param(
        b'{"error": "not found"}',
        UnknownFormatError,
        'is a text file that begins with \'{"error": "not found"}\', not the weights',
        id="json",
    ),
    pytest.param(
        pickle.dumps("weights", 2),
        UnknownFormatError,
        "byte 0: is a pickle without tensors, no PyTorch file",
        id="pickle of text",
    ),
    pytest.param(
        b"\xde\xad\xbe\xef" * 8,
        TruncatedFileError,
        "byte 0: the header claims 17275436393656397278 bytes, but only 24 follow; the "
        "file is cut short or is no safetensors file",
        id="random start",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".safetensors") == (kind, text)


LFS = "is a Git LFS pointer, not the weights; fetch them with `git lfs pull`"
HASH = b"oid sha256:" + b"a" * 64
WRAPPED = {
    "LZ4": (b"\x04\x22\x4d\x18" + bytes(20), "compressed with LZ4; unpack it first (`unlz4`)"),
    "old LZ4": (b"\x02\x21\x4c\x18" + bytes(20), "compressed with LZ4; unpack it first (`unlz4`)"),
    "lzip": (b"LZIP\x01" + bytes(20), "compressed with lzip; unpack it first (`lzip -d`)"),
    "compress": (b"\x1f\x9d\x90" + bytes(20), "compressed with compress; unpack it first"),
    "LZMA": (lzma.compress(b"weights", lzma.FORMAT_ALONE), "compressed with LZMA; unpack it first"),
    "LFS, DOS": (b"version https://git-lfs.github.com/spec/v1\r\n" + HASH + b"\r\n", LFS),
    "LFS, BOM": (b"\xef\xbb\xbfversion https://git-lfs.github.com/spec/v1\n" + HASH, LFS),
    "LFS, first": (b"version https://hawser.github.com/spec/v1\n" + HASH, LFS),
    "annex": (b"/annex/objects/SHA256E-s123--abc.bin\n", "is a git-annex pointer"),
    "JSON": (b'{"message": "Not Found"}', 'is a text file that begins with \'{"message"'),
    "JSON list": (b" [1, 2]", "is a text file that begins with ' [1, 2]'"),
    "XML without head": (b"<Error/>", "is a text file that begins with '<Error/>'"),
    "script": (b"#!/bin/sh\n", "is a text file that begins with '#!/bin/sh"),
}


@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".bin", ".bpk", ".h5", ".npz", ".gguf"])
@pytest.mark.parametrize("name", WRAPPED)
def test_it_is_named_whatever_the_file_is_called(name, suffix, refused):
    raw, words = WRAPPED[name]
    kind, text = refused(raw, suffix)
    assert kind is UnknownFormatError
    assert words in text
