"""LoaderPosition: where a loader stands, as plain data that fits into JSON.

    {"format": "ruda-loader", "version": 1,
     "dataset": {"length": 10000, "fingerprint": "b2:…", "source_id": "digits/…"},
     "sampler": {"algorithm": "fy64-v1", "seed": 42, "epoch": 3},
     "strategy": {"kind": "fixed", "size": 32, "drop_last": false},
     "committed": 17}

The position counts batches of the plan. Workers and prefetch are not in it, so they may differ
when it is loaded; what was prefetched and not delivered is simply made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ruda.data.sampler import ALGORITHM
from ruda.errors import StateMismatchError

FORMAT = "ruda-loader"
VERSION = 1
SEQUENTIAL = "sequential"

V = TypeVar("V", bound=int | str)


@dataclass(frozen=True, slots=True)
class LoaderPosition:
    """The data and settings of a loader, an epoch, and the batches of it that were delivered."""

    length: int
    fingerprint: str
    source_id: str
    seed: int | None
    batch_size: int
    drop_last: bool
    epoch: int
    committed: int

    def to_dict(self) -> dict[str, Any]:
        """The position as nested dicts of numbers, text, bool and None."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "dataset": {
                "length": self.length,
                "fingerprint": self.fingerprint,
                "source_id": self.source_id,
            },
            "sampler": {
                "algorithm": SEQUENTIAL if self.seed is None else ALGORITHM,
                "seed": self.seed,
                "epoch": self.epoch,
            },
            "strategy": {"kind": "fixed", "size": self.batch_size, "drop_last": self.drop_last},
            "committed": self.committed,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> LoaderPosition:
        """The position of a dict that ``to_dict`` made.

        Raises StateMismatchError naming the entry that is missing, wrong or of another version.
        """
        if not isinstance(state, Mapping):
            raise StateMismatchError(f"a loader position is a table, got {state!r}")
        _expect(state, "format", FORMAT)
        _expect(state, "version", VERSION)
        dataset, sampler = _part(state, "dataset"), _part(state, "sampler")
        strategy = _part(state, "strategy")
        _expect(strategy, "kind", "fixed")
        seed = None if sampler.get("seed", 0) is None else _value(sampler, "seed", int)
        _expect(sampler, "algorithm", SEQUENTIAL if seed is None else ALGORITHM)
        return cls(
            length=_count(dataset, "length"),
            fingerprint=_value(dataset, "fingerprint", str),
            source_id=_value(dataset, "source_id", str),
            seed=seed,
            batch_size=_count(strategy, "size"),
            drop_last=_value(strategy, "drop_last", bool),
            epoch=_count(sampler, "epoch"),
            committed=_count(state, "committed"),
        )

    def check_fits(self, here: LoaderPosition, *, strict: bool) -> None:
        """Raise StateMismatchError unless this position can be taken up by the loader ``here``.

        Seed, batch size and drop_last must agree, and the dataset's length; with ``strict`` its
        fingerprint too.
        """
        told: list[tuple[str, object, object]] = [
            ("dataset length", self.length, here.length),
            ("shuffle seed", self.seed, here.seed),
            ("batch size", self.batch_size, here.batch_size),
            ("drop_last", self.drop_last, here.drop_last),
        ]
        if strict:
            told.append(("dataset fingerprint", self.fingerprint, here.fingerprint))
        for name, saved, own in told:
            if saved != own:
                raise StateMismatchError(
                    f"the position was saved with the {name} {saved} ({self.source_id}), "
                    f"this loader has {own} ({here.source_id})"
                )


def _part(state: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = state.get(name)
    if not isinstance(found, Mapping):
        raise StateMismatchError(f"a loader position has a table {name!r}, got {found!r}")
    return found


def _expect(state: Mapping[str, Any], name: str, value: object) -> None:
    found = state.get(name)
    if type(found) is not type(value) or found != value:
        raise StateMismatchError(
            f"a loader position has {name} {value!r} here, got {state.get(name)!r}"
        )


def _value(state: Mapping[str, Any], name: str, kind: type[V]) -> V:
    found = state.get(name)
    if type(found) is not kind:
        raise StateMismatchError(
            f"a loader position has {name!r} as {kind.__name__}, got {found!r}"
        )
    return found


def _count(state: Mapping[str, Any], name: str) -> int:
    found = _value(state, name, int)
    if found < 0:
        raise StateMismatchError(f"a loader position has {name!r} of at least 0, got {found}")
    return found
