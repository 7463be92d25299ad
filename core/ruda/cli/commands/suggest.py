"""``ruda suggest``: a recipe that would make a file fit a model, with its evidence."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Unpack

import click

from ruda.cli.options import RecipeWords, recipe_options, save_recipe, unsaved_recipe_of
from ruda.cli.program import FINDINGS, FINE
from ruda.cli.terminal import complain, echo, monitor, say_json, table

if TYPE_CHECKING:
    from ruda.store import Recipe


def _list_presets(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    """Print the presets and leave, whatever else is there."""
    if not wanted or ctx.resilient_parsing:
        return
    from ruda.store import presets

    rows = []
    for preset in presets():
        rows.append([preset.name, preset.title])
        if preset.note:
            rows.append(["", f"({preset.note})"])
    table(rows, indent=0)
    ctx.exit(FINE)


@click.command("suggest")
@click.argument("source")
@click.argument("target")
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@recipe_options
@click.option("--likely", is_flag=True, help="Take likely steps as well, not only certain ones.")
@click.option(
    "--presets",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_presets,
    help="List the steps that --preset knows, and leave.",
)
@click.option("--json", "as_json", is_flag=True, help="All suggestions as one JSON object.")
def command(
    source: str,
    target: str,
    settings: tuple[str, ...],
    likely: bool,
    as_json: bool,
    **words: Unpack[RecipeWords],
) -> int:
    """Suggest a recipe that lets SOURCE load into TARGET; it is printed and not applied.

    The recipe goes to stdout as TOML, to --save-recipe if that is given, and to stderr as flags,
    after the evidence for each step. TARGET is an architecture (see `ruda models`) with its
    settings, a description of a model (arch.toml), or another weights file. Exit code 0 when the
    load would be complete with the printed recipe, 1 when it would not.
    """
    from ruda.session import parse_target, resolve_target
    from ruda.store import diff, open_store, recipe_to_toml, suggest

    recipe = unsaved_recipe_of(words)
    choice = parse_target(target, settings)
    with (
        monitor("Comparing") as watch,
        open_store(source, top_level_key=words["top_level_key"], monitor=watch) as index,
        closing(resolve_target(choice, monitor=watch)) as found,
    ):
        report = suggest(index, found.expectation, recipe=recipe, monitor=watch)
        made = report.to_recipe(likely=likely)
        outcome = diff(index, found.expectation, recipe=made, monitor=watch)
    save_recipe(made, words)
    if as_json:
        say_json({**report.as_data(), "target": choice.title})
    else:
        for line in str(report).splitlines():
            complain(line)
        cover = outcome.coverage
        complain(f"with this recipe {cover.tensors} of {cover.tensors_total} tensors would load")
        _say_flags(made)
        echo(recipe_to_toml(made).rstrip("\n"))
    return FINE if outcome.is_complete else FINDINGS


def _say_flags(recipe: Recipe) -> None:
    """The recipe as flags, ready for a shell, where it has steps and flags can say them."""
    import shlex

    from ruda.session import RecipeFlags

    flags = RecipeFlags.of(recipe)
    if flags is not None and not recipe.is_identity:
        complain(f"for diff and convert: {shlex.join(flags.arguments())}")
