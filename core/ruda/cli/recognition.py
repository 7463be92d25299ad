"""What ``ruda models --for FILE`` says: the architectures that a file is complete for."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruda.cli.program import FINDINGS, FINE
from ruda.cli.terminal import monitor, say, say_json

if TYPE_CHECKING:
    from ruda.models import Proposal


def recognise(source: str, *, as_json: bool) -> int:
    """Print them with the command that loads each; exit code 1 where there are none."""
    from ruda.models import config_beside, proposals
    from ruda.store import open_store

    config = None if "://" in source else config_beside(Path(source))
    with monitor("Comparing") as watch, open_store(source, monitor=watch) as index:
        found = proposals(index, config, monitor=watch)
    if as_json:
        say_json([_object(each) for each in found])
    elif not found:
        say("no architecture finds all that it wants in this file; `ruda suggest` may help")
    else:
        for each in found:
            _show(each, source)
    return FINE if found else FINDINGS


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
