"""Settings: every setting once, with its type, default and help; and their TOML file.

The file holds only what differs from the defaults. Keys that this version does not know are kept
when the file is written again. A broken file or value costs nothing but that value: the defaults
serve, a note says so, and a copy of the file stays beside it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import tomli_w
from msgspec import Meta

from ruda.session.language import tr
from ruda.session.textfile import replace_text, set_aside


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a user can set. The field is the key, its annotation the type and the help."""

    theme: Annotated[
        Literal["system", "light", "dark"],
        Meta(
            title="Theme",
            description="Colours of the window; system follows the desktop.",
            extra={"group": "look"},
        ),
    ] = "system"
    contrast: Annotated[
        Literal["system", "normal", "high"],
        Meta(
            title="Contrast",
            description="High: every text stands out at 7 to 1, and every line can be seen.",
            extra={"group": "look"},
        ),
    ] = "system"
    reduced_motion: Annotated[
        Literal["system", "always", "never"],
        Meta(
            title="Less motion",
            description="Always: nothing fades or slides, and no cursor blinks.",
            extra={"group": "look"},
        ),
    ] = "system"
    language: Annotated[
        Literal["system", "en", "de"],
        Meta(
            title="Language",
            description="Reports that are exported or copied are English in every language.",
            extra={"group": "look"},
        ),
    ] = "system"
    show_memory: Annotated[
        bool,
        Meta(
            title="Show memory",
            description="Memory that the program uses, in the status line.",
            extra={"group": "look"},
        ),
    ] = True
    restore_session: Annotated[
        bool,
        Meta(
            title="Restore the session",
            description="Open at start what was open at the end.",
            extra={"group": "files"},
        ),
    ] = True
    recent_files: Annotated[
        int,
        Meta(
            title="Recent files",
            description="How many files the list remembers.",
            ge=0,
            le=100,
            extra={"group": "files"},
        ),
    ] = 20
    header_limit: Annotated[
        int,
        Meta(
            title="Largest header (MB)",
            description="Safetensors files with a larger header are refused; real ones reach 126.",
            ge=1,
            le=16_384,
            extra={"group": "files"},
        ),
    ] = 1024
    verify_saved: Annotated[
        bool,
        Meta(
            title="Verify after saving",
            description="Read a written file back and compare every tensor.",
            extra={"group": "files"},
        ),
    ] = True
    statistics_limit: Annotated[
        int,
        Meta(
            title="Statistics at once, up to (MB)",
            description="Larger tensors are scanned only when asked for.",
            extra={"group": "work"},
            ge=0,
            le=1_000_000,
        ),
    ] = 64
    batch_size: Annotated[
        int,
        Meta(
            title="Pictures per batch",
            description="Items on one page of the Data screen.",
            extra={"group": "work"},
            ge=1,
            le=1024,
        ),
    ] = 32
    compute_threads: Annotated[
        int,
        Meta(
            title="Computing threads",
            description="How many share a large array or a model's batch; 0: as many as pay.",
            extra={"group": "work"},
            ge=0,
            le=256,
        ),
    ] = 0
    read_threads: Annotated[
        int,
        Meta(
            title="Reading jobs at once",
            description="Threads for background reading; used from the next start.",
            extra={"group": "work"},
            ge=1,
            le=16,
        ),
    ] = 2


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting as a form shows it."""

    key: str
    title: str
    kind: Literal["choice", "flag", "number"]
    default: bool | int | str
    help: str
    group: str
    """``look``, ``files`` or ``work``: the part of the form that it stands in."""
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """What reading a settings file gave: always usable settings, and what was wrong."""

    settings: Settings
    notes: tuple[str, ...] = ()
    unknown: Mapping[str, Any] = field(default_factory=dict)
    """Entries of other versions, to be written back."""


def setting_infos() -> tuple[SettingInfo, ...]:
    """Every setting in the order of the form."""
    hints = get_type_hints(Settings, include_extras=True)
    return tuple(_info(key, hints[key]) for key in Settings.__struct_fields__)


def read_settings(path: Path) -> SettingsFile:
    """Settings of a file; the defaults where it is absent. Never raises for its content.

    Raises OSError if the file is there and cannot be read.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return SettingsFile(Settings())
    try:
        table = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        kept = set_aside(path)
        note = f"{path}: not a TOML file ({error}); the defaults are used, a copy is in {kept.name}"
        return SettingsFile(Settings(), (note,))
    return _from_table(path, table)


def write_settings(
    path: Path, settings: Settings, *, unknown: Mapping[str, Any] | None = None
) -> None:
    """Write what differs from the defaults, and ``unknown`` as it was. All or nothing.

    Raises OSError where the system refuses; the old file is untouched then.
    """
    defaults = Settings()
    table: dict[str, Any] = {}
    for key in Settings.__struct_fields__:
        value = getattr(settings, key)
        if value != getattr(defaults, key):
            table[key] = value
    replace_text(path, tomli_w.dumps({**table, **(unknown or {})}))


def _from_table(path: Path, table: dict[str, Any]) -> SettingsFile:
    hints = get_type_hints(Settings, include_extras=True)
    values: dict[str, Any] = {}
    notes: list[str] = []
    for key in Settings.__struct_fields__:
        if key not in table:
            continue
        try:
            values[key] = msgspec.convert(table[key], hints[key])
        except msgspec.ValidationError as error:
            default = getattr(Settings(), key)
            notes.append(f"{path}: {key} = {table[key]!r}: {error}; {default!r} is used")
    if notes:
        kept = set_aside(path)
        notes.append(f"a copy of the file is in {kept.name}")
    unknown = {key: value for key, value in table.items() if key not in hints}
    notes.extend(f"{path}: {key} is no setting of this version; kept" for key in unknown)
    return SettingsFile(Settings(**values), tuple(notes), unknown)


def _info(key: str, hint: Any) -> SettingInfo:
    kind, meta = get_args(hint)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    return SettingInfo(
        key=key,
        title=tr(meta.title),
        kind="choice" if choices else "flag" if kind is bool else "number",
        default=getattr(Settings(), key),
        help=tr(meta.description),
        group=str(meta.extra["group"]),
        choices=tuple(str(choice) for choice in choices),
        minimum=meta.ge,
        maximum=meta.le,
    )
