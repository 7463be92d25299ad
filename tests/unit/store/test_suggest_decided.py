"""suggest beside decisions that change a shape for good: the rest is suggested all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruda import nn
from ruda.cli import main
from ruda.store import Decision, KeyRemapper, Recipe, collect, convert, diff, save, suggest

DECISIONS = ["pad 0 0:2 0.5", "slice 0 0:2", "reshape 1,3", "skip", "keep"]


class Net(nn.Module):
    def __init__(self, width: int = 3) -> None:
        self.first = nn.Linear(4, 5, seed=0)
        self.norm = nn.BatchNorm(5)
        self.last = nn.Linear(5, width, seed=1)


@pytest.mark.parametrize("text", DECISIONS)
def test_the_steps_for_the_rest_are_found(text: str) -> None:
    source = convert(collect(Net()), recipe=Recipe(remap=KeyRemapper.of(("^", "module."))))
    recipe = Recipe(decide=(Decision.parse("last.bias", text),))
    made = suggest(source, Net(), recipe=recipe).to_recipe()
    assert made.decide == recipe.decide
    assert [rule.pattern for rule in made.remap.rules] == ["^module\\."]


def test_a_padded_tensor_and_the_steps_make_the_load_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = convert(collect(Net()), recipe=Recipe(remap=KeyRemapper.of(("^", "module."))))
    wide = Net(width=5)
    recipe = Recipe(
        decide=(
            Decision.parse("last.bias", "pad 0 0:2 0.0"),
            Decision.parse("last.weight", "pad 1 0:2 0.0"),
        )
    )
    made = suggest(source, wide, recipe=recipe).to_recipe()
    assert diff(source, wide, recipe=made).is_clean
    save(source, tmp_path / "net.safetensors")
    save(collect(wide), tmp_path / "wide.safetensors")
    words = ["suggest", str(tmp_path / "net.safetensors"), str(tmp_path / "wide.safetensors")]
    decided = ["--decide", "last.bias", "pad 0 0:2 0", "--decide", "last.weight", "pad 1 0:2 0"]
    assert main([*words, *decided]) == 0
    assert "with this recipe 8 of 8 tensors would load" in capsys.readouterr().err
