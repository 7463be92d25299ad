"""The table of the store's modules in ARCHITECTURE.md names each of them once, and no other."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_module_of_the_store_has_its_subject() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("### The store by subject")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    named = Counter(name for row in rows for name in re.findall(r"`(\w+)`", row))
    there = {path.stem for path in (ROOT / "core/ruda/store").glob("*.py")} - {"__init__"}
    assert sorted(there - named.keys()) == [], "modules without a subject in ARCHITECTURE.md"
    assert sorted(named.keys() - there) == [], "subjects name modules that are gone"
    assert [name for name, count in named.items() if count > 1] == []
