"""What name maps say of very many keys at once is what they say of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.store.adapt import ChainAdapter, adapter_named, chain, other_keys_of, pieces_of
from ruda.store.adapter import all_pieces_of, rule_of, rules_of
from ruda.store.name_map import Hit, Rule
from ruda.store.name_tables import NAME_MAPS, name_map
from ruda.store.regroup import Piece

MAPS = sorted(NAME_MAPS)
NUMBERS = st.sampled_from(
    ["0", "1", "7", "12", "01", "00", "999999999", "1000000000", "x", "", "٣"]
)


def keys_of(name: str) -> st.SearchStrategy[str]:
    """Keys of either side of a map, some with numbers that are none, some with more around."""
    table = name_map(name)
    templates = sorted({t for rule in table.rules for t in (rule.here, *rule.elsewhere)})
    around = st.sampled_from(["", "x.", *table.prefixes])
    return st.builds(
        lambda before, template, number, after: before + template.replace("*", number) + after,
        around,
        st.sampled_from([*templates, "head.weight", "layers.0.norm.gamma"]),
        NUMBERS,
        st.sampled_from(["", "", "", "2", ".weight"]),
    )


@pytest.mark.parametrize("name", MAPS)
@given(data=st.data())
def test_rules_of_many_keys_are_those_of_each(name: str, data: st.DataObject) -> None:
    table, keys = name_map(name), data.draw(st.lists(keys_of(name), max_size=12))
    for key, hit in zip(keys, table.find_all(keys), strict=True):
        found = table.find(key)
        assert told(hit) == ([] if found is None else [(found.rule, found.numbers)])
    for prefix in (None, *table.prefixes):
        for key, hit in zip(keys, table.find_all_elsewhere(keys, prefix), strict=True):
            several = table.find_elsewhere(key, prefix)
            assert told(hit) == [(each.rule, each.numbers) for each in several]


def told(hit: Hit | None) -> list[tuple[Rule, tuple[str, ...]]]:
    """The rules of a key, each with the numbers in it."""
    return [] if hit is None else [(rule, (hit[1],) if hit[1] else ()) for rule in hit[0]]


@pytest.mark.parametrize("form", ["{}-to-ruda", "ruda-to-{}"])
@pytest.mark.parametrize("name", MAPS)
@given(data=st.data())
def test_places_of_many_keys_are_those_of_each(name: str, form: str, data: st.DataObject) -> None:
    prefix = data.draw(st.sampled_from(["", ":-", ":x."]))
    adapter = adapter_named(form.format(name) + prefix)
    if data.draw(st.booleans()):
        adapter = chain([adapter, adapter_named("tied-head")])
        assert isinstance(adapter, ChainAdapter)
    keys = data.draw(st.lists(keys_of(name), max_size=12))
    containers: list[tuple[str, ...]] = [("Struct:Model", "Struct:Linear")] * len(keys)
    places = [pieces_of(adapter, key, kinds) for key, kinds in zip(keys, containers, strict=True)]
    assert list(all_pieces_of(adapter, keys, containers)) == places
    assert rules_of(adapter, keys) == [rule_of(adapter, key) for key in keys]
    for spelled, expected in zip(other_keys_of(adapter, keys), places, strict=True):
        if spelled is not None:
            first = [
                (Piece(spelled.number.join(texts), spelled.block, spelled.blocks, axis=axis),)
                for texts in spelled.texts
                for axis in (spelled.axis,)
            ]
            assert list(expected[: len(first)]) == first
