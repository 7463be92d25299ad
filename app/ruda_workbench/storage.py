"""Where the workbench keeps settings, recent files and session state; the folder is a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Literal, TypeVar

import msgspec

from ruda.errors import RudaError
from ruda.session import (
    DocumentState,
    Recent,
    Recents,
    Session,
    SessionCapture,
    SessionState,
    Settings,
    SettingsFile,
    StateMaker,
    add_recent,
    clear_state,
    read_recents,
    read_settings,
    read_state,
    remove_recent,
    with_pending,
    write_settings,
    write_state,
)
from ruda_workbench.keeper import Keeper

F = TypeVar("F")
RecentKind = Literal["weights", "dataset", "recipe"]
Told = Callable[[str, str], None]
"""Hears of a fault: ``read`` or ``write``, and the sentence."""
ABSENT_LIMIT = 20
"""Documents that are carried along though their file is not there; older ones are let go."""

_Kept = tuple[SessionCapture, SessionState, tuple[DocumentState, ...]]


class Storage:
    """Files of one user. Reading never fails for broken content; ``notes`` says what was wrong.

    A folder that cannot be written costs the memory of the program, not its work: writing
    answers with a sentence instead of raising. Each fault is said once until it is over, and told
    to who listens.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._settings_file = folder / "settings.toml"
        self._recents_file = folder / "recents.json"
        self._state_file = folder / "session.json"
        self._recovery_file = folder / "recovery.json"
        self.notes: list[str] = []
        self._faults: dict[tuple[Path, str], tuple[str, str]] = {}
        """What is wrong now, by file and what is not to be said twice: kind and sentence."""
        self._told: Told | None = None
        self._lock = Lock()
        self._states = StateMaker()
        self._keeper: Keeper[_Kept] = Keeper(self._keep_recovery)
        self.absent: tuple[DocumentState, ...] = ()
        """Documents of the last session whose file was not there: carried along, with recipes."""
        self.pending = SessionState()
        """What the session is to open again and has not yet: an end meanwhile loses none of it."""
        found = self._read(self._settings_file, read_settings, SettingsFile(Settings()))
        listed = self._read(self._recents_file, read_recents, Recents())
        self._unknown = found.unknown
        self._recents = listed.entries
        self.settings = found.settings
        for file, notes in (
            (self._settings_file, found.notes),
            (self._recents_file, listed.notes),
        ):
            self._note_broken(file, notes)

    def listen(self, told: Told) -> None:
        """Have faults told from now on, and those there were so far; in any thread."""
        with self._lock:
            self._told = told
            faults = list(self._faults.values())
        for kind, note in faults:
            told(kind, note)

    @property
    def recents(self) -> tuple[Recent, ...]:
        """Recent files, newest first."""
        return self._recents

    def change(self, **values: object) -> None:
        """Give settings other values and write them."""
        self.settings = msgspec.structs.replace(self.settings, **values)
        file = self._settings_file
        self._try(
            file, lambda error: f"{file}: the settings are not kept: {error}", self._write_settings
        )

    def remember(self, path: Path, kind: RecentKind = "weights") -> None:
        """Put a file first in the list of recent ones."""

        def add() -> None:
            limit = self.settings.recent_files
            self._recents = add_recent(self._recents_file, path, kind, limit=limit).entries

        self._keep_list(add)

    def forget(self, path: str) -> None:
        """Take a file out of the list of recent ones."""

        def remove() -> None:
            self._recents = remove_recent(self._recents_file, path).entries

        self._keep_list(remove)

    @property
    def is_busy(self) -> bool:
        """True while what a crash would lose is being written."""
        return self._keeper.is_busy

    def finish(self) -> None:
        """Wait until what a crash would lose is written."""
        self._keeper.finish()

    def keep_recovery(self, session: Session, workspace: str, geometry: str) -> None:
        """Write what a crash would lose, in a thread of its own: after every edit, that is."""
        self._keeper.put(self._captured(session, workspace, geometry))

    def keep_session(self, session: Session, workspace: str, geometry: str) -> None:
        """Write the state at a clean end; there is nothing to recover then."""
        self._keeper.drop()
        kept = self._captured(session, workspace, geometry)
        if self._keep(self._state_file, kept):  # or else the recovery is all there is
            file = self._recovery_file
            self._try(file, lambda error: f"{file}: {error}", lambda: clear_state(file))

    def opened_again(
        self,
        *,
        documents: bool = False,
        dataset: bool = False,
        absent: Sequence[DocumentState] = (),
    ) -> None:
        """What was pending is open, or was refused and told; ``absent`` is carried along."""
        done: dict[str, object] = {}
        if documents:
            done.update(documents=[], active=None, comparison=None)
            self.absent = tuple(absent)[:ABSENT_LIMIT]
        if dataset:
            done.update(dataset=None, dataset_split=None)
        self.pending = msgspec.structs.replace(self.pending, **done)

    def absent_at(self, path: Path) -> DocumentState | None:
        """What is carried along of a file; None where it is not carried."""
        if not self.absent:
            return None
        name = str(path.resolve())
        return next((kept for kept in self.absent if kept.path == name), None)

    def let_go(self, *absent: DocumentState) -> None:
        """Carry these along no more: they are open, or a person wants them forgotten."""
        self.absent = tuple(kept for kept in self.absent if kept not in absent)

    def last_session(self) -> tuple[SessionState | None, bool]:
        """What was open last, and True if it is known from a session without a clean end."""
        for file, crashed in ((self._recovery_file, True), (self._state_file, False)):
            try:
                found = read_state(file)
            except OSError as error:
                self._note(file, "read", f"{file}: {error}")
                continue
            self._note_broken(file, found.notes)
            if found.state is not None:
                return found.state, crashed
        return None, False

    def _captured(self, session: Session, workspace: str, geometry: str) -> _Kept:
        found = SessionCapture.of(session, workspace=workspace, geometry=geometry)
        return found, self.pending, self.absent

    def _keep_recovery(self, kept: _Kept) -> None:
        self._keep(self._recovery_file, kept)

    def _keep(self, file: Path, kept: _Kept) -> bool:
        def write() -> None:
            found, pending, absent = kept
            state = with_pending(self._states.make(found), pending)
            documents = [*state.documents, *absent]
            write_state(file, msgspec.structs.replace(state, documents=documents))

        return self._try(file, lambda error: f"{file}: the session is not kept: {error}", write)

    def _keep_list(self, write: Callable[[], None]) -> None:
        file = self._recents_file
        self._try(file, lambda error: f"{file}: the list is not kept: {error}", write)

    def _write_settings(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_settings(self._settings_file, self.settings, unknown=self._unknown)

    def _read(self, file: Path, read: Callable[[Path], F], otherwise: F) -> F:
        try:
            return read(file)
        except OSError as error:
            self._note(file, "read", f"{file}: cannot be read: {error}")
            return otherwise

    def _try(
        self, file: Path, sentence: Callable[[Exception], str], write: Callable[[], None]
    ) -> bool:
        """Write, and say where that fails; True if it did not."""
        try:
            write()
        except (OSError, RudaError) as error:
            self._note(file, "write", sentence(error))
            return False
        with self._lock:
            self._faults.pop((file, "write"), None)
        return True

    def _note_broken(self, file: Path, notes: Sequence[str]) -> None:
        for note in notes:
            self._note(file, "read", note)

    def _note(self, file: Path, kind: str, note: str) -> None:
        key = file, "write" if kind == "write" else note
        with self._lock:
            if key in self._faults:
                return
            self._faults[key] = kind, note
            self.notes.append(note)
            told = self._told
        if told is not None:
            told(kind, note)
