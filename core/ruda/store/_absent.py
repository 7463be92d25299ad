"""What is said of a path at which there is nothing."""

from __future__ import annotations

import difflib
import os
from itertools import islice
from pathlib import Path

_MOST = 2000
"""Names of a folder that are looked at."""


def absence(path: Path) -> str:
    """The sentence, with the name in the same folder that may have been meant."""
    try:
        leads = path.parent / os.readlink(path)
    except (OSError, ValueError):
        pass  # no link
    else:
        return f"this is a link to {leads}, and there is no file there"
    try:
        with os.scandir(path.parent) as found:
            names = [entry.name for entry in islice(found, _MOST)]
    except FileNotFoundError:
        return f"there is no file here, and no folder {path.parent}; check the spelling of the path"
    except (OSError, ValueError):
        names = []
    longer = sorted((name for name in names if name.startswith(path.name)), key=len)
    near = longer or difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    remedy = f"did you mean {near[0]!r}?" if near else "check the spelling of the path"
    return f"there is no file here; {remedy}"
