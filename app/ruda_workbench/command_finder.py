"""What the command field finds: actions that can be run now, and keys of the open document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruda.session import tr
from ruda_workbench.action_book import ActionBook, found_by
from ruda_workbench.item_models.command_list import Entry, find, find_keys

if TYPE_CHECKING:
    from ruda.session import Document


def found(
    book: ActionBook, document: Document | None, text: str
) -> tuple[list[Entry], list[Entry]]:
    """Actions, and keys where a document is open, that ``text`` finds."""
    offers = [
        (Entry("action", a.id, tr(a.title), a.keys.split(";")[0], a.icon or ""), found_by(a))
        for a in book.records()
        if book.is_available(a.id) and a.id != "view.command"
    ]
    keys = [] if document is None else find_keys(document.index, text)
    return find(offers, text), keys
