"""``ruda models``: the architectures that weights can be loaded into."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ruda.cli.program import FINE
from ruda.cli.terminal import say, say_json, table

if TYPE_CHECKING:
    from ruda.models import Architecture


@click.command("models")
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
def command(as_json: bool) -> int:
    """List the architectures that weights can be loaded into, with input and settings."""
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
    for architecture in listed:
        say()
        say(f"{architecture.name}: {architecture.summary}")
        for setting in architecture.settings:
            say(f"  {setting.name}={setting.default}  {setting.help}")
        say(f"  files of other libraries: --adapt {' or '.join(architecture.adapters)}")
    return FINE


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
