"""Check the import contracts of pyproject.toml against the sources in core/ and app/.

An editable install of meson-python answers for ``ruda_workbench`` with a loader of its own, which
the linter's graph does not understand; here both packages are found as plain folders.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.meta_path = [f for f in sys.meta_path if "mesonpy" not in type(f).__name__.lower()]
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "app")]

from importlinter.cli import lint_imports_command  # noqa: E402 - after the paths are set

if __name__ == "__main__":
    lint_imports_command(["--no-cache", *sys.argv[1:]])
