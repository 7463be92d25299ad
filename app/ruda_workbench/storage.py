"""Where the workbench keeps settings, recent files and session state; the folder is a parameter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from ruda.session import (
    Recent,
    Recents,
    Session,
    SessionState,
    Settings,
    SettingsFile,
    add_recent,
    capture_session,
    clear_state,
    read_recents,
    read_settings,
    read_state,
    remove_recent,
    with_pending,
    write_settings,
    write_state,
)

F = TypeVar("F")
RecentKind = Literal["weights", "dataset", "recipe"]


class Storage:
    """Files of one user. Reading never fails for broken content; ``notes`` says what was wrong.

    A folder that cannot be written costs the memory of the program, not its work: writing
    answers with a sentence instead of raising.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._settings_file = folder / "settings.toml"
        self._recents_file = folder / "recents.json"
        self._state_file = folder / "session.json"
        self._recovery_file = folder / "recovery.json"
        self.notes: list[str] = []
        self.pending = SessionState()
        """What the session is to open again and has not yet: an end meanwhile loses none of it."""
        found = self._read(self._settings_file, read_settings, SettingsFile(Settings()))
        listed = self._read(self._recents_file, read_recents, Recents())
        self._unknown = found.unknown
        self._recents = listed.entries
        self.settings = found.settings
        self.notes += [*found.notes, *listed.notes]

    @property
    def recents(self) -> tuple[Recent, ...]:
        """Recent files, newest first."""
        return self._recents

    def change(self, **values: object) -> None:
        """Give settings other values and write them."""
        self.settings = msgspec.structs.replace(self.settings, **values)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_settings(self._settings_file, self.settings, unknown=self._unknown)
        except OSError as error:
            self.notes.append(f"{self._settings_file}: the settings are not kept: {error}")

    def remember(self, path: Path, kind: RecentKind = "weights") -> None:
        """Put a file first in the list of recent ones."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            limit = self.settings.recent_files
            self._recents = add_recent(self._recents_file, path, kind, limit=limit).entries
        except OSError as error:
            self.notes.append(f"{self._recents_file}: the list is not kept: {error}")

    def forget(self, path: str) -> None:
        """Take a file out of the list of recent ones."""
        try:
            self._recents = remove_recent(self._recents_file, path).entries
        except OSError as error:
            self.notes.append(f"{self._recents_file}: the list is not kept: {error}")

    def keep_recovery(self, session: Session, workspace: str, geometry: str) -> None:
        """Write what a crash would lose."""
        self._write(self._recovery_file, self._captured(session, workspace, geometry))

    def keep_session(self, session: Session, workspace: str, geometry: str) -> None:
        """Write the state at a clean end; there is nothing to recover then."""
        self._write(self._state_file, self._captured(session, workspace, geometry))
        try:
            clear_state(self._recovery_file)
        except OSError as error:
            self.notes.append(f"{self._recovery_file}: {error}")

    def opened_again(self, *, documents: bool = False, dataset: bool = False) -> None:
        """What was pending is open, or was refused and told."""
        done: dict[str, object] = {}
        if documents:
            done.update(documents=[], active=None, comparison=None)
        if dataset:
            done.update(dataset=None, dataset_split=None)
        self.pending = msgspec.structs.replace(self.pending, **done)

    def _captured(self, session: Session, workspace: str, geometry: str) -> SessionState:
        state = capture_session(session, workspace=workspace, geometry=geometry)
        return with_pending(state, self.pending)

    def last_session(self) -> tuple[SessionState | None, bool]:
        """What was open last, and True if it is known from a session without a clean end."""
        for file, crashed in ((self._recovery_file, True), (self._state_file, False)):
            try:
                found = read_state(file)
            except OSError as error:
                self.notes.append(f"{file}: {error}")
                continue
            self.notes.extend(found.notes)
            if found.state is not None:
                return found.state, crashed
        return None, False

    def _read(self, file: Path, read: Callable[[Path], F], otherwise: F) -> F:
        try:
            return read(file)
        except OSError as error:
            self.notes.append(f"{file}: cannot be read: {error}")
            return otherwise

    def _write(self, file: Path, state: SessionState) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_state(file, state)
        except OSError as error:
            self.notes.append(f"{file}: the session is not kept: {error}")
