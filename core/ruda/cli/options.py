"""Options that several commands share: the recipe, and the target that it is laid on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

if TYPE_CHECKING:
    from ruda.store import Hint, Recipe

F = TypeVar("F", bound=Callable[..., Any])


class RecipeWords(TypedDict):
    """The recipe options of one call."""

    recipe_file: str | None
    select: tuple[str, ...]
    remap: tuple[tuple[str, str], ...]
    adapt: tuple[str, ...]
    half: str | None
    keep: tuple[str, ...]
    cast: str | None
    skip: tuple[str, ...]
    top_level_key: str | None


_OPTIONS = (
    click.option("--recipe", "recipe_file", metavar="FILE", help="A recipe file (TOML or JSON)."),
    click.option("--select", multiple=True, metavar="RE", help="Take only keys that match."),
    click.option(
        "--remap",
        multiple=True,
        nargs=2,
        metavar="FROM TO",
        help="Rename: a regex and its replacement ($1 is a group); may be repeated.",
    ),
    click.option(
        "--adapt",
        multiple=True,
        metavar="NAME",
        help="Change the layout for another framework: pytorch-to-ruda, ruda-to-pytorch.",
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
    click.option(
        "--keep",
        multiple=True,
        metavar="MODULE",
        help="Kind of module that a cast leaves alone.",
    ),
    click.option("--skip", multiple=True, metavar="KEY", help="Leave this one tensor out."),
    click.option(
        "--top-level-key", metavar="KEY", help="The entry of a PyTorch checkpoint to take."
    ),
)


def recipe_options(function: F) -> F:
    """Add every option of a recipe; the command takes them as ``**words: Unpack[RecipeWords]``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def recipe_of(words: RecipeWords) -> Recipe:
    """The recipe that the options say, on top of that of ``--recipe``.

    Raises RecipeError, SettingError, DTypeError or FileAccessError.
    """
    from ruda.session import RecipeFlags
    from ruda.store import read_recipe

    start = None if words["recipe_file"] is None else read_recipe(words["recipe_file"])
    flags = RecipeFlags(
        select=words["select"],
        remap=words["remap"],
        adapt=words["adapt"],
        half=words["half"],
        keep=words["keep"],
        cast=words["cast"],
        skip=words["skip"],
    )
    return flags.recipe(start)


def hint_words(hint: Hint) -> str:
    """The options that take a hint's step, ready for a shell."""
    import shlex

    rule = hint.rule
    return shlex.join(["--adapt", hint.value] if rule is None else ["--remap", *rule])
