"""What a pickle asked for and did not get, and what was read of the file all the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruda.session.language import tr
from ruda.session.wording import counted, size_text

if TYPE_CHECKING:
    from ruda.session.document import Document


@dataclass(frozen=True, slots=True)
class RefusedPage:
    """The names, and what was read. A file that asks for a dangerous one is not opened at all."""

    names: tuple[str, ...]
    sentence: str
    facts: tuple[tuple[str, str], ...]


def refused_page(document: Document) -> RefusedPage:
    """What was refused of a document's file; nothing of it was run, and nothing here runs it."""
    index = document.index
    size = sum(s.nbytes for s in index.values() if s.shared_with is None)
    return RefusedPage(
        names=tuple(index.unsafe),
        sentence=tr("This file asks for code that Ruda does not load. None of it was run."),
        facts=(
            (tr("read"), f"{counted(len(index), 'tensor')}, {size_text(size)}"),
            (tr("not run"), tr("the code of these names")),
        ),
    )
