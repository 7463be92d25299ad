from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ruda.session.pages.places import KeyPlaces


class Alike(str):
    """A text whose hash is that of every other."""

    def __hash__(self) -> int:
        return 7


@given(st.lists(st.text(max_size=3)), st.text(max_size=3))
def test_a_key_is_found_where_it_stands_first(keys: list[str], other: str) -> None:
    places = KeyPlaces(keys)
    assert [places.find(key) for key in keys] == [keys.index(key) for key in keys]
    assert places.find(other) == (keys.index(other) if other in keys else None)


def test_keys_of_one_hash_are_told_apart() -> None:
    keys = [Alike(text) for text in "abcab"]
    places = KeyPlaces(keys)
    assert [places.find(Alike(text)) for text in "abcd"] == [0, 1, 2, None]


def test_more_keys_than_one_piece() -> None:
    keys = [f"layers.{n}.weight" for n in range(70_000)]
    assert KeyPlaces(keys).find("layers.69999.weight") == 69_999
