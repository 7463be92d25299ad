"""``ruda convert``: remap, adapt, cast and save."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ruda.cli.options import RecipeWords, recipe_of, recipe_options
from ruda.cli.program import FINDINGS, FINE, REFUSED
from ruda.cli.terminal import monitor, say, say_json, table, warn

if TYPE_CHECKING:
    from ruda.progress import Monitor
    from ruda.session import SavedPage, SaveOptions, SavePlanPage, TargetChoice
    from ruda.store import ConversionReport, MetadataEdit, Recipe, Target, TensorIndex


class SaveWords(RecipeWords):
    """The options of one call that say what is saved and how."""

    format_: str | None
    metadata: tuple[str, ...]
    drop_metadata: tuple[str, ...]
    shard_size: str | None
    aliases: str | None
    owners: tuple[str, ...]
    overwrite: bool
    verify: bool


@click.command("convert")
@click.argument("source")
@click.argument("out")
@recipe_options
@click.option("--target", metavar="NAME", help="The architecture or file that names the modules.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A target's setting.")
@click.option("--format", "format_", metavar="NAME", help="Format to write; else the suffix says.")
@click.option(
    "--metadata", multiple=True, metavar="KEY=VALUE", help="Add or replace an entry of metadata."
)
@click.option("--drop-metadata", multiple=True, metavar="KEY", help="Leave out an entry of it.")
@click.option("--shard-size", metavar="SIZE", help="Spread over files of at most 5GB, 500MiB, …")
@click.option(
    "--aliases",
    type=click.Choice(["full", "once"]),
    help="Write keys that are one tensor each in full, or once with a note in the metadata.",
)
@click.option("--owner", "owners", multiple=True, metavar="KEY", help="Key that owns such values.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it is there.")
@click.option("--verify", is_flag=True, help="Read OUT back and compare every tensor.")
@click.option("--report", is_flag=True, help="Show first what casts and merges do.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Look at the first N values of every tensor only, for --report.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="That report as one JSON object; writes none."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Look at all values first; write nothing if one does not fit its new type or is lost by a "
    "merge, or if a merge cannot be done.",
)
@click.option("--dry-run", is_flag=True, help="Show the plan, write nothing.")
def command(
    source: str,
    out: str,
    target: str | None,
    settings: tuple[str, ...],
    report: bool,
    sample: int | None,
    as_json: bool,
    strict: bool,
    dry_run: bool,
    **words: Unpack[SaveWords],
) -> int:
    """Write SOURCE to OUT after remapping, adapting and casting its tensors.

    The suffix of OUT says the format (.safetensors, .bpk, .pt, .npz, .npy). A conversion that
    changes nothing carries metadata, order and ids over as they are. OUT appears only when it is
    complete. Where SOURCE is OUT and only its metadata changes, its tensors are left alone.
    Exit code 1 says that values became infinite or NaN in OUT, by a merge or because they do not
    fit the new type, or would (--report with --dry-run or --json; --strict, which writes nothing
    then). Both also say it of a merge that is asked for and cannot be done.
    """
    from ruda.session import edit_only, parse_target
    from ruda.store import convert, open_store

    recipe = recipe_of(words)
    choice = None if target is None else parse_target(target, settings)
    if settings and choice is None:
        raise click.UsageError("--set gives settings of a --target, and there is none")
    look = _Look(report, sample, as_json, strict, dry_run)
    options = _save_options(out, words)
    with (
        monitor("Converting") as watch,
        open_store(source, top_level_key=words["top_level_key"], monitor=watch) as index,
        ExitStack() as files,
    ):
        plain = target is None and not (dry_run or as_json)
        edit = edit_only(index, recipe, options) if plain else None
        if edit is not None:
            _show_edit(edit)
            return FINE
        wanted = _expectation(choice, files, watch)
        fits = look.at(index, recipe, wanted, watch)
        if not fits and not look.goes_on:
            return FINDINGS
        if as_json:
            return FINE
        view = convert(index, recipe=recipe, target=wanted)
        return _finish(source, index, view, options, watch, dry_run=dry_run, fits=fits)


@dataclass(frozen=True, slots=True)
class _Look:
    """The options about a look at the values before anything is written."""

    report: bool
    sample: int | None
    as_json: bool
    strict: bool
    dry_run: bool

    def __post_init__(self) -> None:
        if (self.as_json or self.sample is not None) and not self.report:
            raise click.UsageError("--json and --sample are about the --report; add it")
        if self.strict and self.sample is not None:
            raise click.UsageError("--strict looks at all values, --sample at some; leave one out")

    @property
    def goes_on(self) -> bool:
        """True if the plan is shown, or written, though values do not fit."""
        return self.dry_run or not (self.strict or self.as_json)

    def at(self, index: TensorIndex, recipe: Recipe, wanted: Target | None, watch: Monitor) -> bool:
        """Say what casts and merges do, as asked for; False if values are lost or not merged."""
        from ruda.store import conversion_report

        if not (self.report or self.strict):
            return True
        found = conversion_report(index, recipe, target=wanted, sample=self.sample, monitor=watch)
        if self.as_json:
            say_json(found.as_data())
        elif self.report or not found.fits:
            _show_report(found)
        if not found.fits and self.strict and not self.dry_run:
            warn(f"{_why_not(found)}, and --strict: nothing was written")
        return found.fits


def _why_not(found: ConversionReport) -> str:
    """What keeps a strict conversion from being written."""
    if any(row.is_harmed and not row.clamped for row in found.rows):
        return "values do not fit the new type"
    if any(row.remarks for row in found.rows):
        return "values become infinite or NaN by a merge"
    return "not every merge that is asked for can be done"


def _finish(
    source: str,
    index: TensorIndex,
    view: TensorIndex,
    options: SaveOptions,
    watch: Monitor,
    *,
    dry_run: bool,
    fits: bool,
) -> int:
    """Show the plan and carry it out, unless it is a dry run."""
    from ruda.session import plan_saving, save_plan_page, saved_page
    from ruda.store import lost_values, write

    plan = plan_saving(view, options)
    page = save_plan_page(plan, index)
    if dry_run:
        _show_plan(source, page)
        for blocker in page.blockers:
            warn(f"cannot be saved: {blocker}")
        return (FINE if fits else FINDINGS) if page.can_save else REFUSED
    _require_free(plan.path, options.overwrite)
    plan.require_writable()
    _show_plan(source, page)
    result = write(plan, monitor=watch, verify=options.verify)
    _show_saved(saved_page(result))
    lost = lost_values(view, result)
    if lost:
        warn(f"{lost} values do not fit the new type and became infinite or NaN")
    for remark in result.remarks:
        warn(remark)
    return FINDINGS if lost or result.remarks else FINE


def _show_report(found: ConversionReport) -> None:
    """Say what casts and merges do to the values of every tensor."""
    from ruda.store import describe

    say(found.summary)
    table([[row.key, describe(row)] for row in found.rows if row.is_changed])
    for row in found.rows:
        if row.refused:
            warn(f"{row.key}: {row.refused}")
    for sentence in found.unmerged:
        warn(sentence)
    say()


def _save_options(out: str, words: SaveWords) -> SaveOptions:
    from ruda.session import SaveOptions
    from ruda.store import Aliases, parse_size, target_of

    size, aliases = words["shard_size"], words["aliases"]
    return SaveOptions(
        path=target_of(out),
        format=words["format_"],
        metadata=_entries(words["metadata"], words["drop_metadata"]),
        drop_metadata=words["drop_metadata"],
        overwrite=words["overwrite"],
        verify=words["verify"],
        shard_size=None if size is None else parse_size(size),
        aliases=None if aliases is None else Aliases(aliases),
        owners=words["owners"],
    )


def _expectation(choice: TargetChoice | None, files: ExitStack, watch: Monitor) -> Target | None:
    """What names the modules, if anything does; its file is open for as long as ``files`` are."""
    from ruda.session import resolve_target

    if choice is None:
        return None
    return files.enter_context(closing(resolve_target(choice, monitor=watch))).expectation


def _require_free(path: Path, overwrite: bool) -> None:
    from ruda.errors import SaveError

    if path.is_file() and not overwrite:
        raise SaveError("the file exists; --overwrite replaces it", stage="plan", path=path)


def _entries(added: tuple[str, ...], dropped: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """What is added to the metadata; each key may be spoken of once."""
    found = [_entry(word) for word in added]
    keys = [*(key for key, _ in found), *dropped]
    twice = next((key for key, _ in found if keys.count(key) > 1), None)
    if twice is not None:
        raise click.UsageError(f"--metadata and --drop-metadata name {twice!r} twice; say it once")
    return tuple(found)


def _entry(word: str) -> tuple[str, str]:
    key, sign, value = word.partition("=")
    if not sign or not key:
        raise click.UsageError(f"--metadata expects KEY=VALUE, got {word!r}")
    return key, value


def _show_plan(source: str, page: SavePlanPage) -> None:
    from ruda.session import counted, size_text

    say(f"{source} to {page.path} ({page.format})")
    say(page.summary)
    if page.left_out:
        say(f"{counted(page.left_out, 'tensor')} left out")
    say()
    table(
        [
            [
                line.key + (f"  ×{line.count}" if line.count > 1 else ""),
                line.dtype,
                line.shape,
                size_text(line.nbytes),
                line.what or "as it is",
                line.module,
            ]
            for line in page.lines
        ],
        right=(3,),
    )
    say()
    say("before: " + "; ".join(share.text for share in page.dtypes_before))
    say("after:  " + "; ".join(share.text for share in page.dtypes_after))
    for note in page.notes:
        say(f"note: {note}")
    for warning in page.warnings:
        warn(warning)


def _show_edit(edit: MetadataEdit) -> None:
    from ruda.session import size_text

    how = f"{size_text(edit.written)} written in place" if edit.in_place else "copied"
    say(f"Metadata of {edit.path} changed, {how}")
    for key, value in edit.metadata.items():
        say(f"  {key}={value}")


def _show_saved(page: SavedPage) -> None:
    say(page.title)
    if page.casts.numel:
        say(page.cast_text)
    for line in page.worst:
        say(f"  {line}")
    if page.stale:
        more = ", …" if len(page.stale) > 3 else ""
        named = ", ".join(page.stale[:3]) + more
        warn(
            f"files of an earlier set lie beside it; remove them if you need them no more: {named}"
        )
