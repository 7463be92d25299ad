"""``ruda models``: the architectures that weights can be loaded into, and what each expects."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ruda.cli.program import FINE
from ruda.cli.terminal import monitor, say, say_json, table

if TYPE_CHECKING:
    from ruda.models import Architecture
    from ruda.nn import ParamSpec
    from ruda.session import TargetChoice


@click.command("models")
@click.argument("name", required=False)
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--save-target",
    metavar="FILE",
    help="Write what NAME expects as a description (.toml or .json) that `ruda diff` takes.",
)
@click.option(
    "--for",
    "source",
    metavar="FILE",
    help="The architectures, with their settings, that this weights file is complete for.",
)
@click.option("--overwrite", is_flag=True, help="Replace that file if it is there.")
@click.option("--json", "as_json", is_flag=True, help="One JSON list, or of NAME one object.")
def command(
    name: str | None,
    settings: tuple[str, ...],
    save_target: str | None,
    source: str | None,
    overwrite: bool,
    as_json: bool,
) -> int:
    """List the architectures that weights can be loaded into, one on a line.

    With NAME, an architecture with its settings, a weights file or a description of a model, list
    the tensors that it expects: key, type, shape and kind of module. Of an architecture its
    settings and adapters are said first. --json has all of it either way.

    With --for, list what a weights file is for. Sizes are told by its shapes, and heads and the
    like by the config.json beside it. Exit code 1 where no architecture finds all that it wants.
    """
    if source is not None:
        from ruda.cli.recognition import recognise

        if name is not None or save_target is not None:
            raise click.UsageError("--for looks at all architectures; name none beside it")
        return recognise(source, as_json=as_json)
    if name is None:
        if save_target is not None:
            raise click.UsageError("--save-target writes what a NAME expects; name one")
        return _list(as_json)
    from ruda.session import parse_target

    return _show(parse_target(name, settings), save_target, overwrite, as_json)


def _list(as_json: bool) -> int:
    from ruda.models import architectures
    from ruda.session import shape_text

    listed = architectures()
    if as_json:
        say_json([_object(architecture) for architecture in listed])
        return FINE
    table(
        [
            [
                architecture.name,
                architecture.title,
                f"input {shape_text(architecture.input.shape)}",
                _output(architecture),
            ]
            for architecture in listed
        ],
        indent=0,
    )
    say()
    say("`ruda models NAME` shows the settings, the adapters and the tensors of one")
    return FINE


def _say_architecture(architecture: Architecture, choice: TargetChoice) -> None:
    """What an architecture is, with the settings of this call."""
    from ruda.session import shape_text

    chosen = dict(choice.settings)
    say(f"{architecture.title}: {architecture.summary}")
    say(f"input {shape_text(architecture.input.shape)}, {_output(architecture)}")
    say(f"files of other libraries: --adapt {' or '.join(architecture.adapters)}")
    rows = []
    for setting in architecture.settings:
        value = chosen.get(setting.name, setting.default)
        other = f" (by default {setting.default})" if value != setting.default else ""
        rows.append([f"{setting.name}={value}", f"{setting.help}{other}"])
    table(rows)
    say()


def _architecture(choice: TargetChoice) -> Architecture | None:
    """The architecture that a target is; None for a file."""
    from ruda.models import get

    return None if choice.is_file else get(choice.name)


def _show(choice: TargetChoice, save_target: str | None, overwrite: bool, as_json: bool) -> int:
    from ruda.session import resolve_target
    from ruda.store import expected_of, write_arch

    with monitor("Opening") as watch, closing(resolve_target(choice, monitor=watch)) as found:
        expected = expected_of(found.expectation)
        if save_target is not None:
            _require_free(save_target, overwrite)
            write_arch(found.expectation, save_target)
    architecture = _architecture(choice)
    if as_json:
        params = [_entry(param) for param in expected.params]
        known = {} if architecture is None else _object(architecture)
        chosen = {"chosen": dict(choice.settings)} if known else {}
        told = {"name": choice.title, "params": params, "notes": list(expected.notes)}
        say_json({**known, **chosen, **told})
        return FINE
    if save_target is None:
        if architecture is not None:
            _say_architecture(architecture, choice)
        _list_params(expected.params)
    else:
        say(f"Saved what {choice.title} expects, {len(expected.params)} tensors, to {save_target}")
    for note in expected.notes:
        say(f"note: {note}")
    return FINE


def _list_params(params: tuple[ParamSpec, ...]) -> None:
    from ruda.session import shape_text

    rows = [
        [param.key, str(param.dtype), shape_text(param.shape), ".".join(param.containers)]
        for param in params
    ]
    table(rows, indent=0)


def _require_free(path: str, overwrite: bool) -> None:
    from pathlib import Path

    from ruda.errors import SaveError

    if Path(path).suffix.lower() not in (".toml", ".json"):
        raise click.UsageError(f"--save-target: {path} must end in .toml or .json")
    if Path(path).exists() and not overwrite:
        raise SaveError("the file exists; --overwrite replaces it", stage="plan", path=path)


def _entry(param: ParamSpec) -> dict[str, Any]:
    return {
        "key": param.key,
        "dtype": str(param.dtype),
        "shape": list(param.shape),
        "containers": list(param.containers),
    }


def _output(architecture: Architecture) -> str:
    from ruda.session import count_text

    classes = len(architecture.input.classes)
    if classes:
        return f"{count_text(classes)} classes"
    return "a vector per token" if architecture.output == "states" else "the next token"


def _object(architecture: Architecture) -> dict[str, Any]:
    from ruda.nn import ModuleSpec

    return {
        "name": architecture.name,
        "title": architecture.title,
        "summary": architecture.summary,
        "input": list(architecture.input.shape),
        "classes": len(architecture.input.classes),
        "output": architecture.output,
        "adapters": list(architecture.adapters),
        "tensors": len(ModuleSpec.of(architecture.build())),
        "settings": [asdict(setting) for setting in architecture.settings],
    }
