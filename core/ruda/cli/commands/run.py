"""``ruda run``: a model with weights over a dataset."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from ruda.cli.options import RecipeWords, hint_words, recipe_of, recipe_options
from ruda.cli.program import FINE
from ruda.cli.terminal import monitor, say, table, warn
from ruda.errors import LoadError

if TYPE_CHECKING:
    from ruda.data import Dataset
    from ruda.session import Evaluation, LoadedModel


@click.command("run")
@click.argument("target")
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--weights", required=True, metavar="FILE", help="The weights to load.")
@click.option("--dataset", "data", required=True, metavar="PATH", help="The items to run.")
@click.option("--split", metavar="NAME", help="The part of the dataset, where it has several.")
@recipe_options
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first N items.")
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="Items a time.",
)
@click.option("--profile", is_flag=True, help="Time every layer on the first batch.")
@click.option("--logits", metavar="FILE.npz", help="Write the outputs of every item.")
@click.option("--overwrite", is_flag=True, help="Replace the file of --logits if it is there.")
@click.option("--allow-partial", is_flag=True, help="Run although parameters are not in the file.")
def command(
    target: str,
    settings: tuple[str, ...],
    weights: str,
    data: str,
    split: str | None,
    limit: int | None,
    batch_size: int,
    profile: bool,
    logits: str | None,
    overwrite: bool,
    allow_partial: bool,
    **words: Unpack[RecipeWords],
) -> int:
    """Load weights into TARGET (see `ruda models`) and run it over a dataset of images.

    Prints the accuracy where the items have labels. A file that does not fill every parameter is
    refused, because the rest would keep arbitrary values. Networks of text and sound are built by
    ruda.models in Python, and called there.
    """
    from ruda.data import open_dataset
    from ruda.session import accuracy_text, evaluate, load_model, parse_target
    from ruda.store import open_store

    recipe = recipe_of(words)
    choice = parse_target(target, settings)
    out = None if logits is None else _free(Path(logits), overwrite, sources=(weights, data))
    with monitor("Loading") as watch:
        dataset = open_dataset(data, split=split, monitor=watch)
        with open_store(weights, top_level_key=words["top_level_key"], monitor=watch) as index:
            try:
                loaded = load_model(
                    choice, index, recipe, allow_partial=allow_partial, monitor=watch
                )
            except LoadError as error:
                raise _with_remedy(error, weights) from error
    if loaded.warning:
        warn(loaded.warning)
    with monitor("Running") as watch:
        found = evaluate(loaded, dataset, batch_size=batch_size, limit=limit, monitor=watch)
    say(f"{Path(weights).name} in {choice.title} over {dataset.source_id}")
    say(accuracy_text(found))
    if found.accuracy is not None:
        say(f"accuracy {found.accuracy:.4f} ({found.correct} of {len(found.outputs)})")
    if profile:
        _show_profile(loaded, dataset, batch_size)
    if out is not None:
        _write_outputs(out, found, loaded.architecture.output)
        say(f"outputs written to {out}")
    return FINE


def _with_remedy(error: LoadError, weights: str) -> LoadError:
    """The same error with what can be done about it here."""
    from ruda.store import ApplyResult, Status

    result = error.result
    if not isinstance(result, ApplyResult):
        return error
    report = result.report
    fact = report.banner or error.message.removeprefix(f"{error.path}: ")
    if report.hints:
        remedy = f"try {hint_words(report.hints[0])}"
    elif report.counts[Status.ERROR]:
        remedy = "`ruda diff` shows each of them"
    else:
        remedy = "--allow-partial runs it all the same"
    return LoadError(f"{fact}; {remedy}", result=result, path=weights)


def _show_profile(loaded: LoadedModel, dataset: Dataset[Any], batch_size: int) -> None:
    from ruda.session import run_batch, run_page

    indices = range(min(batch_size, len(dataset)))
    if not indices:
        return
    page = run_page(run_batch(loaded, dataset.get_many(indices), indices))
    say()
    rows = [
        [line.path, line.kind, line.shape, f"{line.milliseconds:.2f} ms", f"{line.share:.1%}"]
        for line in page.layers
    ]
    table([["layer", "kind", "output", "time", "share"], *rows], right=(3, 4))
    say(page.timing)


def _free(path: Path, overwrite: bool, sources: tuple[str, ...]) -> Path:
    """The path, if the outputs may be written there: never over what they are made from."""
    from ruda.errors import SaveError
    from ruda.store import is_same_file

    reason = None
    try:
        found = path.stat()
    except FileNotFoundError:
        if not path.parent.is_dir():
            reason = "its folder does not exist"
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = f"cannot be reached: {getattr(error, 'strerror', None) or error}"
    else:
        if stat.S_ISDIR(found.st_mode):
            reason = "is a folder; name a file in it"
        elif not stat.S_ISREG(found.st_mode):
            reason = "is not a plain file"
        elif not overwrite:
            reason = "exists; --overwrite replaces it"
        elif any(is_same_file(Path(each), path) for each in sources):
            reason = "is read by this very run; name another file for the outputs"
    if reason is not None:
        raise SaveError(reason, stage="plan", path=path)
    return path


def _write_outputs(path: Path, found: Evaluation, kind: str) -> None:
    """Write ``logits`` or ``log_probs``, ``predicted`` and ``labels``; all or nothing."""
    import io

    import numpy as np

    from ruda.store import replace_file

    arrays: dict[str, Any] = {kind: found.outputs, "predicted": found.predicted}
    if found.labels is not None:
        arrays["labels"] = found.labels
    content = io.BytesIO()
    np.savez(content, **arrays)
    replace_file(path, content.getvalue())
