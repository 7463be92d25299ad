"""``ruda models``: the architectures that weights can be loaded into."""

from __future__ import annotations

import click

from ruda.cli.program import FINE
from ruda.cli.terminal import say, say_json, table


@click.command("models")
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
def command(as_json: bool) -> int:
    """List the architectures that weights can be loaded into, with input and settings."""
    from ruda.models import architectures
    from ruda.nn import ModuleSpec
    from ruda.session import count_text, shape_text

    listed = []
    for architecture in architectures():
        spec = ModuleSpec.of(architecture.build())
        listed.append(
            {
                "name": architecture.name,
                "title": architecture.title,
                "summary": architecture.summary,
                "input": list(architecture.input.shape),
                "classes": len(architecture.input.classes),
                "output": architecture.output,
                "tensors": len(spec),
                "settings": [
                    {
                        "name": setting.name,
                        "default": setting.default,
                        "minimum": setting.minimum,
                        "maximum": setting.maximum,
                        "help": setting.help,
                    }
                    for setting in architecture.settings
                ],
            }
        )
    if as_json:
        say_json(listed)
        return FINE
    table(
        [
            [
                str(entry["name"]),
                str(entry["title"]),
                f"input {shape_text(architecture.input.shape)}",
                f"{count_text(len(architecture.input.classes))} classes",
            ]
            for entry, architecture in zip(listed, architectures(), strict=True)
        ],
        indent=0,
    )
    for architecture in architectures():
        say()
        say(f"{architecture.name}: {architecture.summary}")
        for setting in architecture.settings:
            say(f"  {setting.name}={setting.default}  {setting.help}")
    return FINE
