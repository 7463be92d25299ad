"""Pickles that would run code: nothing runs, and the names are listed."""

import pytest

from ruda.errors import UnsafeContentError
from ruda.testing.file_bytes import (
    BUILD,
    EMPTY_TUPLE,
    MARK,
    NEWOBJ,
    NONE,
    REDUCE,
    call,
    group,
    name,
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


CASES = [
    pytest.param(
        acts(table({"w": call("os.system", text("touch x"))})),
        UnsafeContentError,
        "byte 67: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="os.system",
    ),
    pytest.param(
        acts(call("posix.system", text("touch x"))),
        UnsafeContentError,
        "byte 62: the pickle in it asks for posix.system, which could run code; "
        "nothing was run, and the file is refused",
        id="posix.system as the root",
    ),
    pytest.param(
        acts(call("nt.system", text("x"))),
        UnsafeContentError,
        "byte 59: the pickle in it asks for nt.system, which could run code; nothing "
        "was run, and the file is refused",
        id="nt.system",
    ),
    pytest.param(
        acts(call("__builtin__.eval", text("1"))),
        UnsafeContentError,
        "byte 66: the pickle in it asks for builtins.eval, which could run code; "
        "nothing was run, and the file is refused",
        id="Python 2 builtins",
    ),
    pytest.param(
        acts(text("builtins") + text("exec") + b"\x93" + group(text("1")) + REDUCE, protocol=4),
        UnsafeContentError,
        "byte 71: the pickle in it asks for builtins.exec, which could run code; "
        "nothing was run, and the file is refused",
        id="exec by STACK_GLOBAL",
    ),
    pytest.param(
        acts(
            text("torch") + text("serialization.os.system") + b"\x93" + group(text("x")) + REDUCE,
            protocol=4,
        ),
        UnsafeContentError,
        "byte 87: the pickle in it asks for torch.serialization.os.system, which could "
        "run code; nothing was run, and the file is refused",
        id="a dotted way to os",
    ),
    pytest.param(
        acts(call("builtins.getattr", name("torch.nn"), text("x"))),
        UnsafeContentError,
        "byte 66: the pickle in it asks for builtins.getattr, which could run code; "
        "nothing was run, and the file is refused",
        id="getattr",
    ),
    pytest.param(
        acts(call("subprocess.Popen", text("x"))),
        UnsafeContentError,
        "byte 66: the pickle in it asks for subprocess.Popen, which could run code; "
        "nothing was run, and the file is refused",
        id="subprocess.Popen",
    ),
    pytest.param(
        acts(name("subprocess.Popen") + group(text("x")) + NEWOBJ),
        UnsafeContentError,
        "byte 66: the pickle in it asks for subprocess.Popen, which could run code; "
        "nothing was run, and the file is refused",
        id="NEWOBJ on subprocess.Popen",
    ),
    pytest.param(
        acts(
            name("subprocess.Popen") + EMPTY_TUPLE + table({"args": text("x")}) + b"\x92",
            protocol=4,
        ),
        UnsafeContentError,
        "byte 66: the pickle in it asks for subprocess.Popen, which could run code; "
        "nothing was run, and the file is refused",
        id="NEWOBJ_EX on subprocess.Popen",
    ),
    pytest.param(
        acts(MARK + text("x") + b"ios\nsystem\n"),
        UnsafeContentError,
        "byte 66: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="INST",
    ),
    pytest.param(
        acts(MARK + name("os.system") + text("x") + b"o"),
        UnsafeContentError,
        "byte 60: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="OBJ",
    ),
    pytest.param(
        acts(call("copyreg.__newobj__", name("subprocess.Popen"), text("x"))),
        UnsafeContentError,
        "byte 87: the pickle in it asks for subprocess.Popen, which could run code; "
        "nothing was run, and the file is refused",
        id="copyreg.__newobj__ on subprocess.Popen",
    ),
    pytest.param(
        acts(call("os.system", text("x")) + b"0" + table({"w": GOOD})),
        UnsafeContentError,
        "byte 59: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a payload that is dropped again",
    ),
    pytest.param(
        acts(MARK + call("os.system", text("x")) + b"1" + table({"w": GOOD})),
        UnsafeContentError,
        "byte 60: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a payload behind POP_MARK",
    ),
    pytest.param(
        acts(table({"state_dict": table({"w": GOOD}), "hparams": call("os.system", text("x"))})),
        UnsafeContentError,
        "byte 232: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a payload in hyper parameters",
    ),
    pytest.param(
        acts(
            table(
                {
                    "w": torch_tensor(
                        torch_storage("0", 4, location=call("os.system", text("x"))), (2, 2)
                    )
                }
            )
        ),
        UnsafeContentError,
        "byte 140: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a payload in a persistent id",
    ),
    pytest.param(
        acts(table({"a": call("os.system", text("x")), "b": call("builtins.eval", text("1"))})),
        UnsafeContentError,
        "byte 67: the pickle in it asks for builtins.eval, os.system, which could run "
        "code; nothing was run, and the file is refused",
        id="two payloads",
    ),
    pytest.param(
        acts(call("os.system", text("x")) + b"\xff"),
        UnsafeContentError,
        "byte 59: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a payload and then damage",
    ),
    pytest.param(
        acts(table({"f": name("os.system")})),
        UnsafeContentError,
        "byte 67: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a name that only appears",
    ),
    pytest.param(
        acts(call("torch.hub.load", text("x"))),
        UnsafeContentError,
        "byte 73: the pickle in it asks for torch.hub.load, which could run code; "
        "nothing was run, and the file is refused",
        id="torch.hub.load",
    ),
    pytest.param(
        acts(call("torch.load", text("x"))),
        UnsafeContentError,
        "byte 69: the pickle in it asks for torch.load, which could run code; nothing "
        "was run, and the file is refused",
        id="torch.load",
    ),
    pytest.param(
        acts(call("numpy.load", text("x"))),
        UnsafeContentError,
        "byte 69: the pickle in it asks for numpy.load, which could run code; nothing "
        "was run, and the file is refused",
        id="numpy.load",
    ),
    pytest.param(
        acts(call("mypkg.setup", text("x"))),
        UnsafeContentError,
        "byte 70: the pickle in it asks for mypkg.setup, which could run code; nothing "
        "was run, and the file is refused",
        id="a function of some program",
    ),
    pytest.param(
        acts(call("pickle.loads", text("x"))),
        UnsafeContentError,
        "byte 62: the pickle in it asks for pickle.loads, which could run code; "
        "nothing was run, and the file is refused",
        id="pickle in a pickle",
    ),
    pytest.param(
        acts(call("operator.methodcaller", text("x"))),
        UnsafeContentError,
        "byte 71: the pickle in it asks for operator.methodcaller, which could run "
        "code; nothing was run, and the file is refused",
        id="operator.methodcaller",
    ),
    pytest.param(
        acts(call("importlib.import_module", text("x"))),
        UnsafeContentError,
        "byte 73: the pickle in it asks for importlib.import_module, which could run "
        "code; nothing was run, and the file is refused",
        id="an import",
    ),
    pytest.param(
        acts(call("webbrowser.open", text("x"))),
        UnsafeContentError,
        "byte 65: the pickle in it asks for webbrowser.open, which could run code; "
        "nothing was run, and the file is refused",
        id="a web page",
    ),
    pytest.param(
        acts(
            name("builtins.object")
            + EMPTY_TUPLE
            + NEWOBJ
            + table({"__class__": name("my.Class")})
            + BUILD
        ),
        UnsafeContentError,
        "byte 95: the pickle in it asks for builtins.object.__class__, which could run "
        "code; nothing was run, and the file is refused",
        id="BUILD that sets a class",
    ),
    pytest.param(
        acts(name("my.Class") + table({"x": NONE}) + BUILD),
        UnsafeContentError,
        "byte 69: the pickle in it asks for my.Class.__dict__, which could run code; "
        "nothing was run, and the file is refused",
        id="BUILD on a class",
    ),
    pytest.param(
        acts(
            name("my.Class")
            + EMPTY_TUPLE
            + NEWOBJ
            + group(NONE, table({"__setstate__": NONE}))
            + BUILD
        ),
        UnsafeContentError,
        "byte 85: the pickle in it asks for my.Class.__setstate__, which could run "
        "code; nothing was run, and the file is refused",
        id="BUILD with __setstate__ in slots",
    ),
    pytest.param(
        acts(b"\x82\x01"),
        UnsafeContentError,
        "byte 50: the pickle in it asks for copyreg.extension(1), which could run "
        "code; nothing was run, and the file is refused",
        id="extension registry",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".pt") == (kind, text)
