"""The pickle machine: what Python pickles of plain values is read as equal; limits are counted."""

import pickle
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import FormatError, UnsafeContentError, UnsupportedContentError
from ruda.progress import Cancelled
from ruda.store.formats import _pickle_stack
from ruda.store.formats._pickle import PickleMachine
from ruda.store.formats._pickle_names import GlobalName, acts, may_be_called
from ruda.store.formats._pickle_values import Opaque
from ruda.testing.file_bytes import (
    BUILD,
    MARK,
    NEWOBJ,
    call,
    group,
    name,
    script,
    table,
    text,
)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 600), 1 << 600),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers(), st.tuples(st.text())), inner),
    ),
    max_leaves=25,
)


def run(raw, **options):
    return PickleMachine(raw, **options).run()


@given(VALUES, st.sampled_from(range(6)))
def test_plain_values_are_read_as_they_were_written(value, protocol):
    assert run(pickle.dumps(value, protocol)) == value


@given(st.text(st.characters(codec=None, categories=["Cs", "L", "Cc"])), st.sampled_from(range(6)))
def test_texts_with_lone_surrogates_are_read(value, protocol):
    assert run(pickle.dumps(value, protocol)) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_an_error(raw):
    try:
        found = run(raw)
    except FormatError as error:
        found = str(error)
    assert found is not Ellipsis


@given(VALUES, st.sampled_from(range(6)), st.data())
def test_a_pickle_that_is_cut_is_refused(value, protocol, data):
    raw = pickle.dumps(value, protocol)
    cut = raw[: data.draw(st.integers(0, len(raw) - 1))]
    with pytest.raises(FormatError, match=r"byte \d+: the pickle"):
        run(cut)


def test_sets_and_shared_parts():
    shared = [1]
    found = run(pickle.dumps({"a": shared, "b": shared, "c": {2}, "d": frozenset((3,))}, 4))
    assert found["a"] is found["b"]
    assert (found["c"].cls, found["c"].entries) == ("builtins.set", [2])
    assert (found["d"].cls, found["d"].entries) == ("builtins.frozenset", [3])


def test_python_2_strings_are_text_or_bytes():
    assert run(b"(U\x03abcU\x02\xff\x00S'x\\n'\nt.") == ("abc", b"\xff\x00", "x\n")


def test_an_object_of_a_class_is_inert():
    made = name("my.Class") + group(text("x")) + NEWOBJ + table({"lr": text("y")}) + BUILD
    found = run(script(made))
    assert isinstance(found, Opaque)
    assert (found.cls, found.args, found.state) == ("my.Class", ("x",), {"lr": "y"})


def test_names_are_listed_with_the_place_of_their_first_use():
    machine = PickleMachine(script(name("my.Class") + b"0" + name("my.Class")))
    assert machine.run().full == "my.Class"
    assert machine.foreign == {"my.Class": 12}


NAMES = [
    pytest.param("os.system", True, False, id="os"),
    pytest.param("subprocess.Popen", True, False, id="a class of a module that acts"),
    pytest.param("builtins.getattr", True, False, id="getattr"),
    pytest.param("builtins.set", False, True, id="set"),
    pytest.param("torch.hub.os.path.join", True, False, id="os inside another"),
    pytest.param("torch.hub.load", False, False, id="a function of torch"),
    pytest.param("torch.nn.modules.linear.Linear", False, True, id="a module"),
    pytest.param("my.code.Net", False, True, id="a harmless word inside"),
    pytest.param("my._Net", False, True, id="a private class"),
    pytest.param("my.net", False, False, id="lower case"),
    pytest.param("numpy.core.multiarray.scalar", False, True, id="numpy scalar"),
    pytest.param("operator.attrgetter", False, True, id="attrgetter"),
    pytest.param("operator.methodcaller", True, False, id="methodcaller"),
    pytest.param("datetime.datetime", False, True, id="datetime"),
]


@pytest.mark.parametrize(("full", "acting", "callable_"), NAMES)
def test_which_names_are_refused(full, acting, callable_):
    module, _, last = full.rpartition(".")
    named = GlobalName(module, last)
    assert (acts(named), may_be_called(named)) == (acting, callable_)


def test_all_refused_names_are_in_one_error():
    raw = script(table({"a": call("os.system", text("x")), "b": call("torch.load", text("y"))}))
    with pytest.raises(UnsafeContentError, match=r"asks for os\.system, torch\.load,") as caught:
        run(raw)
    assert caught.value.names == ("os.system", "torch.load")


def test_a_memo_slot_far_away_costs_nothing():
    tracemalloc.start()
    assert run(b"\x80\x02}r\xfe\xff\xff\xff.") == {}
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_the_work_is_limited(monkeypatch):
    monkeypatch.setattr(_pickle_stack, "MAX_WORK", 1000)
    with pytest.raises(UnsupportedContentError, match=r"takes more than 1000 steps to read"):
        run(script(b"N0" * 2000 + b"N"))


def test_copies_of_a_long_list_count_as_work(monkeypatch):
    monkeypatch.setattr(_pickle_stack, "MAX_WORK", 100_000)
    long_list = MARK + b"N" * 10_000 + b"lq\0"
    again = name("builtins.list") + b"h\0\x85R0"
    with pytest.raises(UnsupportedContentError, match=r"takes more than 100000 steps"):
        run(script(long_list + again * 50))


def test_reading_can_be_stopped():
    class Stop:
        def report(self, progress):
            pass

        def check(self):
            raise Cancelled

    with pytest.raises(Cancelled, match=r"^$"):
        run(script(b"N0" * 100_000 + b"N"), monitor=Stop())


def test_values_that_are_deeply_nested_are_dropped_without_recursion():
    found = run(script(b")" + b"\x85" * 500_000))
    assert len(found) == 1
    del found
