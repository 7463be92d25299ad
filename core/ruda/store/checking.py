"""check: what looks wrong in a file of tensors, by rules, from headers or from all values."""

from __future__ import annotations

from ruda.progress import SILENT, Monitor, Progress
from ruda.store.check_headers import header_findings
from ruda.store.check_report import CheckReport, Finding
from ruda.store.check_values import value_findings
from ruda.store.index import TensorIndex


def check(index: TensorIndex, *, values: bool = False, monitor: Monitor = SILENT) -> CheckReport:
    """Findings about an opened file; reads no value unless ``values`` are asked for.

    A file that cannot be opened at all has raised in ``open_store`` before. Values are read in
    blocks. Raises Cancelled from the monitor, and what reading raises.
    """
    found: list[Finding] = list(header_findings(index))
    if values:
        done = 0
        for snapshot in index.values():
            monitor.check()
            found += value_findings(snapshot, monitor=monitor)
            done += snapshot.nbytes
            monitor.report(Progress(done, None, "bytes"))
    path = index.format if index.path is None else str(index.path)
    return CheckReport(path, tuple(found), len(index), values)
