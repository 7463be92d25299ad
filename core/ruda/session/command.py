"""The ``ruda`` command lines that do what a document does; what "Copy command" copies."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from ruda.errors import RecipeError
from ruda.session.document import Document, TargetChoice
from ruda.session.flags import RecipeFlags
from ruda.session.saving import SaveOptions
from ruda.session.side_by_side import CompareOptions
from ruda.store import Recipe

PROGRAM = "ruda"


def command_text(words: Sequence[str]) -> str:
    """The words as one line that a POSIX shell splits into the same words."""
    return shlex.join(words)


def inspect_command(path: Path, *, top_level_key: str | None = None) -> list[str]:
    """``ruda inspect FILE``, of one part of it where a key is given."""
    words = [PROGRAM, "inspect", str(path)]
    return words if top_level_key is None else [*words, "--top-level-key", top_level_key]


def diff_command(document: Document, *, recipe_file: Path | None = None) -> list[str]:
    """``ruda diff SOURCE TARGET …`` equal to the load diff of a document.

    Raises RecipeError without a target, or for a recipe that needs a file and has none.
    """
    target = _target(document)
    return [
        *(PROGRAM, "diff", str(document.path)),
        *(target.name, *setting_words(target)),
        *_source_words(document, recipe_file),
    ]


def convert_command(
    document: Document, options: SaveOptions, *, recipe_file: Path | None = None
) -> list[str]:
    """``ruda convert SOURCE OUT …`` that writes the same bytes.

    Raises RecipeError as above, and for an entry of metadata whose key has an equals sign.
    """
    words = [PROGRAM, "convert", str(document.path), str(options.path)]
    if document.target is not None:
        words += ["--target", document.target.name]
        for setting in setting_words(document.target):
            words += ["--set", setting]
    words += _source_words(document, recipe_file)
    if options.format is not None:
        words += ["--format", options.format]
    for key, value in options.metadata:
        if "=" in key:
            raise RecipeError(
                f"the metadata entry {key!r} has an equals sign in its key, which does not fit on "
                "a command line; take another key"
            )
        words += ["--metadata", f"{key}={value}"]
    for key in options.drop_metadata:
        words += ["--drop-metadata", key]
    if options.shard_size is not None:
        words += ["--shard-size", str(options.shard_size)]
    if options.aliases is not None:
        words += ["--aliases", options.aliases.value]
    for key in options.owners:
        words += ["--owner", key]
    if options.overwrite:
        words.append("--overwrite")
    if options.verify:
        words.append("--verify")
    return words


def run_command(document: Document, dataset: Path, *, recipe_file: Path | None = None) -> list[str]:
    """``ruda run TARGET --weights FILE --dataset PATH …``. Raises RecipeError as above."""
    target = _target(document)
    return [
        *(PROGRAM, "run", target.name, *setting_words(target)),
        *("--weights", str(document.path), "--dataset", str(dataset)),
        *_source_words(document, recipe_file),
    ]


def compare_command(left: Document, right: Document, options: CompareOptions) -> list[str]:
    """``ruda compare A B …`` equal to a comparison of two documents.

    Raises RecipeError where a side is compared through steps that fit no command line, such as
    adapters that are no names.
    """
    words = [PROGRAM, "compare", str(left.path), str(right.path)]
    if options.values:
        words.append("--values")
        if options.absolute is not None:
            words += ["--atol", repr(options.absolute)]
        if options.relative is not None:
            words += ["--rtol", repr(options.relative)]
        if options.ulp:
            words += ["--ulp", str(options.ulp)]
    if options.any_dtype:
        words.append("--any-dtype")
    if options.only:
        words += ["--only", options.only]
    for document, side, ending in ((left, options.left, ""), (right, options.right, "-b")):
        flags = RecipeFlags.of(side.recipe(document))
        if flags is None:
            raise RecipeError(
                f"{document.name} is compared through steps that do not fit on a command line; "
                f"save its recipe to a file and give that as --recipe{ending}"
            )
        words += flags.arguments(ending=ending)
        if document.top_level_key is not None:
            words += [f"--top-level-key{ending}", document.top_level_key]
    return words


def setting_words(target: TargetChoice) -> list[str]:
    """The settings of a target as ``key=value`` words."""
    return [f"{key}={value}" for key, value in target.settings]


def recipe_words(recipe: Recipe, recipe_file: Path | None = None) -> list[str]:
    """The flags equal to a recipe, or ``--recipe FILE`` where flags cannot say it.

    Raises RecipeError when it cannot be said and ``recipe_file`` is None.
    """
    flags = RecipeFlags.of(recipe)
    if flags is not None:
        return flags.arguments()
    if recipe_file is None:
        raise RecipeError("this recipe does not fit on a command line; save it to a file first")
    return ["--recipe", str(recipe_file)]


def _source_words(document: Document, recipe_file: Path | None) -> list[str]:
    words = recipe_words(document.recipe, recipe_file)
    if document.top_level_key is not None:
        words += ["--top-level-key", document.top_level_key]
    return words


def _target(document: Document) -> TargetChoice:
    if document.target is None:
        raise RecipeError(f"{document.name}: choose a target first; the command needs one")
    return document.target
