"""What ``ruda models --for FILE`` says: the architectures that a file is complete for."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruda.cli.program import FINDINGS, FINE
from ruda.cli.terminal import monitor, say, say_json

if TYPE_CHECKING:
    from ruda.models import Proposal
    from ruda.session import Document, ModelFit


def recognise(source: str, *, as_json: bool) -> int:
    """Print them with the command that loads each; exit code 1 where there are none."""
    from ruda.models import config_beside, proposals
    from ruda.session import Document, model_fits
    from ruda.store import Recipe, open_store

    config = None if "://" in source else config_beside(Path(source))
    with monitor("Comparing") as watch, open_store(source, monitor=watch) as index:
        found = proposals(index, config, monitor=watch)
        document = Document(0, Path(source), index, Recipe())
        fits = () if found else model_fits(document, monitor=watch)
    if as_json:
        objects = [_object(each) for each in found]
        say_json(objects + [_fit_object(fit, document, source) for fit in fits])
    for each in () if as_json else found:
        _show(each, source)
    for fit in () if as_json else fits:
        say(f"{fit.choice.name}: {fit.facts[0].lower()}{fit.facts[1:]}")
        say("  " + shlex.join(_words(fit, document, source)))
    if not (as_json or found or fits):
        say(
            "no architecture finds all that it wants in this file; where you know which it is for, "
            "`ruda suggest FILE NAME` looks for steps, and `ruda models` lists the names"
        )
    return FINE if found or fits else FINDINGS


def _words(fit: ModelFit, document: Document, source: str) -> list[str]:
    """The command that loads it."""
    from ruda.session import diff_command

    laid = document.with_recipe(fit.recipe).with_target(fit.choice)
    words = diff_command(laid)
    words[2] = source  # an address is no path
    return words


def _show(found: Proposal, source: str) -> None:
    words = [f"{key}={value}" for key, value in found.settings.items()]
    adapt = [] if found.adapter is None else ["--adapt", found.adapter]
    cast = [] if found.cast is None else ["--cast", found.cast]
    say(f"{found.architecture.name}: all of its {found.tensors} tensors are there")
    say("  " + shlex.join(["ruda", "diff", source, found.architecture.name, *words, *adapt, *cast]))
    if found.configured:
        say(f"  config.json says {', '.join(found.configured)}")
    defaults = {setting.name: setting.default for setting in found.architecture.settings}
    for name in found.left:
        value = found.settings.get(name, defaults[name])
        say(f"  nothing says {name}: it is taken as {value}, and results depend on it")
    for doubt in found.doubts:
        say(f"  {doubt}")


def _object(found: Proposal) -> dict[str, Any]:
    return {
        "name": found.architecture.name,
        "settings": dict(found.settings),
        "adapter": found.adapter,
        "cast": found.cast,
        "tensors": found.tensors,
        "configured": list(found.configured),
        "left": list(found.left),
        "doubts": list(found.doubts),
    }


def _fit_object(fit: ModelFit, document: Document, source: str) -> dict[str, Any]:
    words = _words(fit, document, source)
    return {
        "name": fit.choice.name,
        "settings": dict(fit.choice.settings),
        "adapter": fit.recipe.adapt[-1] if fit.recipe.adapt else None,
        "cast": None,
        "tensors": fit.tensors,
        "configured": [],
        "left": [],
        "doubts": list(fit.doubts),
        "options": words[4:],
    }
