"""CheckReport: what looks wrong in a file, as text, plain values or SARIF."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote


class Severity(Enum):
    """How much a finding matters."""

    ERROR = "error"
    """The file gives wrong values, or none."""
    WARNING = "warning"
    """Probably not what was meant."""
    NOTE = "note"
    """Worth knowing; often meant so."""


RULES: Mapping[str, str] = MappingProxyType(
    {
        "refused": "The file cannot be opened.",
        "reader-note": "What the reader of the format remarked.",
        "shard-index": "The index of shards and the shards disagree.",
        "unsafe-pickle": "A pickle asks for code that is not run.",
        "dtype-outlier": "A tensor has another element type than its family.",
        "dtype-mixture": "Two half precisions in one file.",
        "empty-placeholder": "A tensor without values among tensors that have some.",
        "layer-gap": "Numbers of layers are left out.",
        "tied-head": "The output head and the embedding do not fit each other.",
        "format-missing": "Safetensors metadata without a format entry.",
        "unaligned": "Values that do not lie at a multiple of their size.",
        "fp8-scale": "8-bit floats that need a scale from another tensor.",
        "nan": "Values that are not a number.",
        "infinity": "Infinite values.",
        "all-zero": "A tensor of zeros only.",
        "constant": "A tensor of one value.",
        "integers-as-floats": "A tensor that counts or numbers things, stored as floats.",
        "non-integral": "A tensor that counts or numbers things holds fractions.",
        "subnormal": "Many values below the smallest normal number of their type.",
    }
)
"""Every rule by its id, with what it means."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found, in one sentence."""

    rule: str
    severity: Severity
    sentence: str
    key: str | None = None
    """Key of the tensor, or of the first of several; None for the file as a whole."""
    offset: int | None = None
    """Byte of the file where the tensor begins, where that is known."""

    def __str__(self) -> str:
        where = "" if self.key is None else f"{self.key}: "
        return f"{self.severity.value} [{self.rule}] {where}{self.sentence}"

    def as_data(self) -> dict[str, Any]:
        """The finding as plain values, for JSON."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "key": self.key,
            "sentence": self.sentence,
            "offset": self.offset,
        }


@dataclass(frozen=True, eq=False)
class CheckReport:
    """Findings of one file, the worst first."""

    path: str
    findings: tuple[Finding, ...] = ()
    tensors: int = 0
    values: bool = False
    """False where headers alone were looked at."""
    counts: Mapping[Severity, int] = field(init=False)
    """Number of findings of every severity, none left out."""

    def __post_init__(self) -> None:
        order = {severity: at for at, severity in enumerate(Severity)}
        ranked = sorted(self.findings, key=lambda finding: order[finding.severity])
        object.__setattr__(self, "findings", tuple(ranked))
        found = Counter(finding.severity for finding in self.findings)
        counts = {severity: found.get(severity, 0) for severity in Severity}
        object.__setattr__(self, "counts", MappingProxyType(counts))

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.summary}", *(f"  {finding}" for finding in self.findings)]
        return "\n".join(lines)

    @property
    def is_healthy(self) -> bool:
        """True where nothing is worse than a note."""
        return not self.counts[Severity.ERROR] and not self.counts[Severity.WARNING]

    @property
    def summary(self) -> str:
        """One line: the counts, and whether values were looked at."""
        words = ", ".join(f"{severity.value} {count}" for severity, count in self.counts.items())
        how = "values read" if self.values else "headers only: values were not read"
        return f"{words} ({self.tensors} tensors, {how})"

    def as_data(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {
            "path": self.path,
            "healthy": self.is_healthy,
            "tensors": self.tensors,
            "values": self.values,
            "counts": {severity.value: count for severity, count in self.counts.items()},
            "findings": [finding.as_data() for finding in self.findings],
        }


def to_sarif(reports: Iterable[CheckReport], *, version: str) -> dict[str, Any]:
    """The findings of several files as one SARIF 2.1.0 log, ``version`` being Ruda's."""
    ids = list(RULES)
    results = [
        _result(report.path, finding, ids.index(finding.rule))
        for report in reports
        for finding in report.findings
    ]
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()]
    text = "unicodeCodePoints"
    driver = {"name": "ruda check", "version": version, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": text, "results": results}],
    }


def _result(path: str, finding: Finding, at: int) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(path)}}
    if finding.offset is not None:
        physical["region"] = {"byteOffset": finding.offset, "byteLength": 0}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.key is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.key, "kind": "member"}]
    said = finding.sentence if finding.key is None else f"{finding.key}: {finding.sentence}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": at,
        "level": finding.severity.value,
        "message": {"text": said},
        "locations": [location],
    }


def _uri(path: str) -> str:
    """The path as an address: absolute ones as ``file:``, those with a scheme as they are."""
    if "://" in path:
        return path
    local = Path(path)
    return local.as_uri() if local.is_absolute() else quote(os.fsencode(local.as_posix()))
