"""Spreading tensors over several files: sizes in words, names, order, and the index file's text.

The names are those of Hugging Face: ``model-00001-of-00003.safetensors`` beside
``model.safetensors.index.json``, which maps every key to its file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruda.errors import SaveError, SettingError
from ruda.store.formats.sharded import INDEX_SUFFIX
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.store.stamp import is_same_file

MAX_SHARDS = 99_999
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_UNITS = {
    **{unit: 1000**n for n, unit in enumerate(("b", "kb", "mb", "gb", "tb"))},
    **{unit: 1024**n for n, unit in enumerate(("kib", "mib", "gib", "tib"), 1)},
}


def parse_size(text: str) -> int:
    """Bytes of a size such as ``5GB``, ``500 MB`` or ``2GiB``; a bare number counts bytes.

    kB, MB, GB and TB are powers of 1000, KiB, MiB, GiB and TiB of 1024; case does not matter.
    Raises SettingError for anything else, and for less than one byte.
    """
    found = _SIZE.fullmatch(text.strip())
    factor = None if found is None else _UNITS.get(found[2].lower() or "b")
    if found is None or factor is None:
        raise SettingError(f"{text!r} is no size; write a number and kB, MB, GB, KiB, MiB or GiB")
    size = int(float(found[1]) * factor) if "." in found[1] else int(found[1]) * factor
    if size < 1:
        raise SettingError(f"{text!r} is less than one byte")
    return size


def require_shardable(format: str, shard_size: int, target: Path) -> None:
    """Raise SaveError (stage ``plan``) unless this format is written in shards of this size."""
    if format != "safetensors":
        raise SaveError(
            f"only safetensors files are written in shards, not {format}; end the name in "
            ".safetensors, or leave the shard size out",
            stage="plan",
            path=target,
        )
    if shard_size < 1:
        raise SaveError(f"a shard of {shard_size} bytes holds nothing", stage="plan", path=target)


def split(index: TensorIndex, shard_size: int) -> tuple[TensorIndex, ...]:
    """The tensors in order, in groups of at most ``shard_size`` bytes; one group if all fit.

    A tensor that is larger than a shard has a group of its own.
    """
    groups: list[list[TensorSnapshot]] = [[]]
    filled = 0
    for snapshot in index.values():
        if groups[-1] and filled + snapshot.nbytes > shard_size:
            groups.append([])
            filled = 0
        groups[-1].append(snapshot)
        filled += snapshot.nbytes
    if len(groups) > MAX_SHARDS:
        raise SaveError(
            f"{len(groups)} shards are more than {MAX_SHARDS}; make them larger", stage="plan"
        )
    return tuple(
        TensorIndex.of(group, format=index.format, path=index.path, extra=index.extra)
        for group in groups
    )


def unsharded(path: Path) -> Path:
    """The name of the set: the index file's without its ending, any other as it is."""
    if path.name.endswith(INDEX_SUFFIX):
        return path.with_name(path.name.removesuffix(INDEX_SUFFIX))
    return path


def shard_paths(target: Path, count: int) -> tuple[Path, ...]:
    """Names of the files of a set, in order."""
    return tuple(
        target.with_name(f"{target.stem}-{number:05d}-of-{count:05d}{target.suffix}")
        for number in range(1, count + 1)
    )


def stale_beside(target: Path, count: int) -> tuple[Path, ...]:
    """Files of an earlier set of this name that a set of ``count`` files does not replace."""
    written = {path.name.lower(): path for path in shard_paths(target, count)} if count > 1 else {}
    shard = re.compile(
        re.escape(target.stem) + r"-\d{5}-of-\d{5}" + re.escape(target.suffix), re.IGNORECASE
    )
    found = []
    try:
        names = sorted(entry.name for entry in target.parent.iterdir())
    except OSError:
        return ()  # path_problems will say it
    for name in names:
        of_index = count == 1 and name == target.name + INDEX_SUFFIX
        of_plain = count > 1 and name == target.name
        if not (of_index or of_plain or shard.fullmatch(name)):
            continue
        path, replaced = target.with_name(name), written.get(name.lower())
        # Where the system does not tell large letters from small ones, another name is this file.
        if replaced is None or not (replaced == path or is_same_file(replaced, path)):
            found.append(path)
    return tuple(found)


def index_text(
    keys_of: Mapping[str, list[str]], total_size: int, about: Mapping[str, Any]
) -> bytes:
    """The index file: which file each key is in, and the bytes of all tensors."""
    document = {
        "metadata": {**about, "total_size": total_size},
        "weight_map": {key: name for name, keys in keys_of.items() for key in keys},
    }
    text = json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    return text.encode("utf-8", "replace")
