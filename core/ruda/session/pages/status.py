"""The five statuses as they are shown everywhere: word, shape and what they mean."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.session.language import later, tr
from ruda.store import Status


@dataclass(frozen=True, slots=True)
class StatusLook:
    """Word and glyph of a status; the glyph is a shape that needs no colour to be told apart."""

    word: str
    glyph: str
    meaning: str


_LOOKS = {
    Status.APPLIED: StatusLook(later("Applied"), "●", later("the target takes this tensor")),
    Status.SKIPPED: StatusLook(
        later("Skipped"), "◐", later("a filter or your decision left it out")
    ),
    Status.MISSING: StatusLook(
        later("Missing"), "▲", later("nothing in the source; the target keeps its initial value")
    ),
    Status.UNUSED: StatusLook(later("Unused"), "■", later("in the source, wanted by nobody")),
    Status.ERROR: StatusLook(later("Error"), "✖", later("names matched, but it cannot be applied")),
}


def status_look(status: Status) -> StatusLook:
    """How a status is shown, the same words and shapes everywhere."""
    look = _LOOKS[status]
    return StatusLook(tr(look.word), look.glyph, tr(look.meaning))


def is_problem(status: Status) -> bool:
    """True for what a person looks at one by one: error, missing, unused."""
    return status in (Status.ERROR, Status.MISSING, Status.UNUSED)
