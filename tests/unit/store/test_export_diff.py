from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruda.errors import SettingError
from ruda.session import status_look
from ruda.store import (
    Status,
    TensorIndex,
    TensorSnapshot,
    diff,
    diff_to_csv,
    diff_to_html,
    diff_to_json,
    diff_to_markdown,
    write_diff,
)
from ruda.store.export_diff import COLUMNS, SHAPES, cells_of

HOSTILE = [
    pytest.param("<script>alert(1)</script>", id="script"),
    pytest.param("\"><img src=x onerror='x'>", id="attribute"),
    pytest.param("=HYPERLINK(1)", id="formula"),
    pytest.param("  +1", id="formula after spaces"),
    pytest.param("@x", id="at"),
    pytest.param("a|b\n# c", id="table"),
    pytest.param("[x](https://x)", id="link"),
    pytest.param("\u202eevil\x1b[31m\0", id="steering"),
    pytest.param("\ud800", id="half a character"),
    pytest.param("&lt;", id="entity"),
]


def report(*keys):
    def index(names):
        made = [TensorSnapshot.from_array(name, np.zeros((2, 3), "f4")) for name in names]
        return TensorIndex.of(made, format="memory")

    return diff(index(keys), index(["kept", *keys[1:]]))


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.cells, self.outside = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.outside += [value for name, value in attrs if name in ("src", "href", "onerror")]
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


@pytest.mark.parametrize("key", HOSTILE)
def test_keys_cannot_leave_their_cell_in_html(key):
    text = diff_to_html(report(key))
    page = Page()
    page.feed(text)
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert page.outside == []
    assert len(page.cells) == (2 + 1) * len(COLUMNS)
    assert not any(char in text for char in "\u202e\x1b\0")


@pytest.mark.parametrize("key", HOSTILE)
def test_keys_cannot_become_formulas(key):
    rows = list(csv.reader(io.StringIO(diff_to_csv(report(key)), newline="")))
    assert rows[0] == list(COLUMNS)
    assert len(rows) == 3
    for cell in rows[1] + rows[2]:
        assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
    assert any(key in cell for cell in rows[2])


@pytest.mark.parametrize("key", HOSTILE)
def test_keys_cannot_leave_their_cell_in_markdown(key):
    lines = diff_to_markdown(report(key)).splitlines()
    table = [line for line in lines if line.startswith("| ")]
    assert len(table) == 4
    for line in table:
        assert line.replace("\\|", "").count("|") == len(COLUMNS) + 1
        assert "<" not in line
        assert "://" not in line


@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1))
def test_any_key_makes_whole_files(key):
    found = report(key)
    page = Page()
    page.feed(diff_to_html(found))
    rows = len(found.rows)
    assert len(page.cells) == (rows + 1) * len(COLUMNS)
    assert len(list(csv.reader(io.StringIO(diff_to_csv(found), newline="")))) == rows + 1


def test_html_needs_nothing_else():
    text = diff_to_html(report("a", "b"))
    assert "prefers-color-scheme: dark" in text
    assert "default-src 'none'" in text
    for word in ("http:", "https:", "url(", "@import", "<script", "<link"):
        assert word not in text.lower()


def test_all_forms_say_the_same():
    found = report("a", "b")
    data = json.loads(diff_to_json(found))
    assert data["schema"] == "ruda-diff-1"
    assert set(data) >= {
        "schema", "source", "target", "source_tensors", "target_tensors", "counts", "coverage",
        "banner", "hints", "notes", "rows",
    }  # fmt: skip
    for text in (diff_to_csv(found), diff_to_html(found), diff_to_markdown(found)):
        for word in ("applied", "missing", "unused"):
            assert word in text
    assert all(len(cells_of(row)) == len(COLUMNS) for row in found.rows)


def test_shapes_are_those_of_the_window():
    assert {status: status_look(status).glyph for status in Status} == dict(SHAPES)


@pytest.mark.parametrize("name", ["a.html", "a.HTM", "a.csv", "a.md", "a.markdown", "a.json"])
def test_the_suffix_says_the_form(tmp_path, name):
    write_diff(report("\ud800"), tmp_path / name)
    assert (tmp_path / name).read_text("utf-8")


def test_other_suffixes_are_refused_before_anything_is_replaced(tmp_path):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(b"precious")
    with pytest.raises(SettingError, match=r"ends in \.csv or \.md"):
        write_diff(report("a"), path)
    assert path.read_bytes() == b"precious"
