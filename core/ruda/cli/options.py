"""Options that several commands share: the recipe, and the target that it is laid on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import click

if TYPE_CHECKING:
    from ruda.store import Hint, Recipe

F = TypeVar("F", bound=Callable[..., Any])


class RecipeWords(TypedDict):
    """The recipe options of one call."""

    recipe_file: str | None
    preset: tuple[str, ...]
    merge: tuple[str, ...]
    select: tuple[str, ...]
    select_key: tuple[str, ...]
    select_by: tuple[str, ...]
    leave: tuple[str, ...]
    leave_key: tuple[str, ...]
    leave_by: tuple[str, ...]
    remap: tuple[tuple[str, str], ...]
    contiguous: bool
    keep_indices: str | None
    adapt: tuple[str, ...]
    half: str | None
    cast: str | None
    keep: tuple[str, ...]
    add: tuple[str, ...]
    policy: tuple[str, ...]
    skip: tuple[str, ...]
    decide: tuple[tuple[str, str], ...]
    save_recipe: str | None
    top_level_key: str | None


def _many(flag: str, metavar: str, help: str, name: str | None = None) -> Callable[[F], F]:
    """An option that may be repeated."""
    words = (flag,) if name is None else (flag, name)
    return click.option(*words, multiple=True, metavar=metavar, help=help)


_OPTIONS = (
    click.option("--recipe", "recipe_file", metavar="FILE", help="A recipe file (TOML or JSON)."),
    _many("--preset", "NAME", "Steps for files of well-known programs; `ruda suggest --presets`."),
    _many("--merge", "NAME", "Compute tensors out of several: scales, weight-norm, spectral-norm."),
    _many("--select", "RE", "Take only keys that match."),
    _many("--select-key", "KEY", "Take this one key, too."),
    _many("--select-by", "NAME", "Take keys by a predicate: norm, bias, kind:Linear, under:KEY, …"),
    _many("--except", "RE", "Leave out keys that match.", "leave"),
    _many("--except-key", "KEY", "Leave out this one key by the filter.", "leave_key"),
    _many("--except-by", "NAME", "Leave out keys by a predicate.", "leave_by"),
    click.option(
        "--remap",
        multiple=True,
        nargs=2,
        metavar="FROM TO",
        help="Rename: a regex and its replacement ($1 is a group); may be repeated.",
    ),
    click.option("--contiguous", is_flag=True, help="Close gaps in numbers, after the renaming."),
    click.option("--keep-indices", metavar="RE", help="Prefixes under which gaps stay."),
    _many(
        "--adapt",
        "NAME",
        "Names and layouts of another framework or library: pytorch-to-ruda, ruda-to-pytorch, "
        "those that `ruda models` names; may be repeated.",
    ),
    click.option(
        "--half",
        type=click.Choice(["f16", "bf16"]),
        help="Halve the weights of modules that stand it.",
    ),
    click.option(
        "--cast",
        metavar="DTYPE",
        help="Cast every float tensor: f32, f16, bf16, f64, f8_e4m3fn, f8_e5m2, int8.",
    ),
    _many("--keep", "MODULE", "Kind of module that a cast leaves alone."),
    _many("--add", "MODULE", "Kind of module that --half halves, too."),
    _many("--policy", "RE=DTYPE", "Element type by pattern: RE=keep, RE=bf16, RE=clamp:f16."),
    _many("--skip", "KEY", "Leave this one tensor out."),
    click.option(
        "--decide",
        multiple=True,
        nargs=2,
        metavar="KEY WHAT",
        help="One tensor: 'keep', 'cast bf16', 'clamp f16', 'transpose 1,0', 'slice AXIS A:B', "
        "'pad AXIS BEFORE:AFTER VALUE', 'reshape 10,1', 'take FILE KEY'.",
    ),
    click.option(
        "--save-recipe",
        metavar="FILE",
        help="Write the recipe of this call to a new file, or over the one that --recipe reads.",
    ),
    click.option(
        "--top-level-key", metavar="KEY", help="The entry of a PyTorch checkpoint to take."
    ),
)


def recipe_options(function: F) -> F:
    """Add every option of a recipe; the command takes them as ``**words: Unpack[RecipeWords]``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


SECOND = "_b"
"""Ending of the names of options for the second file of a command; on the line it is ``-b``."""


def second_recipe_options(function: F) -> F:
    """Add the options of a recipe once more, for a second file: ``--remap-b`` and so on.

    Saving a recipe is left to the first: the names are those of ``recipe_options`` with ``SECOND``.
    """
    for option in reversed(_OPTIONS):
        for made in _made_by(option):
            if made.name != "save_recipe":
                function = _for_second(made)(function)
    return function


def _made_by(option: Callable[[Any], Any]) -> list[click.Option]:
    """The options that a decorator adds."""

    def command() -> None: ...

    return list(getattr(option(command), "__click_params__", ()))


def _for_second(option: click.Option) -> Callable[[F], F]:
    flag = option.opts[0]
    given: dict[str, Any] = {"is_flag": True} if option.is_flag else {"type": option.type}
    return click.option(
        f"{flag}-b",
        f"{option.name}{SECOND}",
        multiple=option.multiple,
        nargs=option.nargs,
        metavar=option.metavar,
        help=f"The same as {flag}, for B.",
        **given,
    )


def second_words(words: Mapping[str, Any]) -> RecipeWords:
    """The values of the options for the second file, under the names of those for the first."""
    found = {name: words.get(f"{name}{SECOND}") for name in RecipeWords.__annotations__}
    return cast("RecipeWords", found)


def recipe_of(words: RecipeWords) -> Recipe:
    """The recipe that the options say, on top of that of ``--recipe``; saved if asked for.

    Raises SaveError, RecipeError, SettingError, DTypeError or FileAccessError.
    """
    made = unsaved_recipe_of(words)
    save_recipe(made, words)
    return made


def unsaved_recipe_of(words: RecipeWords) -> Recipe:
    """The same for a command that adds to the recipe before ``save_recipe`` writes it.

    Whether it can be written is known before anything is read. Raises as ``recipe_of``.
    """
    from dataclasses import fields

    from ruda.session import RecipeFlags
    from ruda.store import read_recipe

    if words["save_recipe"] is not None:
        _require_new(words["save_recipe"], words["recipe_file"])
    start = None if words["recipe_file"] is None else read_recipe(words["recipe_file"])
    given: dict[str, Any] = dict(words)
    return RecipeFlags(**{f.name: given[f.name] for f in fields(RecipeFlags)}).recipe(start)


def save_recipe(recipe: Recipe, words: RecipeWords) -> None:
    """Write a recipe where ``--save-recipe`` says, if it says it. Raises SaveError."""
    from ruda.store import write_recipe

    if words["save_recipe"] is not None:
        write_recipe(recipe, words["save_recipe"])


def _require_new(path: str, read: str | None) -> None:
    """Refuse a recipe's place where a file would be lost: any but the recipe that was read."""
    from ruda.errors import SaveError
    from ruda.store import is_same_file

    place = Path(path)
    if place.suffix.lower() not in (".toml", ".json"):
        raise click.UsageError(f"--save-recipe: {path} must end in .toml or .json")
    if place.exists() and not (read is not None and is_same_file(place, Path(read))):
        raise SaveError(
            "the file exists; name another one, or the recipe that --recipe reads",
            stage="plan",
            path=path,
        )


_REPORTS: tuple[Callable[[Any], Any], ...] = (
    click.option("--json", "as_json", is_flag=True, help="The whole report as one JSON object."),
    click.option("--html", metavar="FILE", help="Write the report as one HTML page, too."),
    click.option("--csv", metavar="FILE", help="Write the rows as CSV, too."),
    click.option("--markdown", metavar="FILE", help="Write the report as Markdown, too."),
)


def report_options(function: F) -> F:
    """Add the forms of a report; the command takes ``as_json`` and a file's name for the others."""
    for option in reversed(_REPORTS):
        function = option(function)
    return function


def report_paths(html: str | None, csv: str | None, markdown: str | None) -> list[Path]:
    """The reports to write; their names must not be those of files of another kind."""
    from ruda.store import require_report_name

    forms = ((html, (".html", ".htm")), (csv, (".csv",)), (markdown, (".md", ".markdown")))
    found = [(Path(name), suffixes) for name, suffixes in forms if name is not None]
    for path, suffixes in found:
        require_report_name(path, *suffixes)
    return [path for path, _ in found]


def hint_words(hint: Hint) -> str:
    """The options that take a hint's step, ready for a shell."""
    import shlex

    rule = hint.rule
    return shlex.join([f"--{hint.kind}", hint.value] if rule is None else ["--remap", *rule])
