#!/usr/bin/env bash
# Builds sdist and wheel in isolation, installs the wheel alone into an empty environment and uses it.
set -euo pipefail
cd "$(dirname "$0")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python="${PYTHON:-python3}"

"$python" -m build --outdir "$work/dist" "$@" . >"$work/build.log" 2>&1 || { tail -40 "$work/build.log"; exit 1; }
ls -l "$work/dist"
"$python" -m venv "$work/empty"
"$work/empty/bin/pip" install -q "$work"/dist/*.whl
cd "$work"
"$work/empty/bin/python" - <<'CODE'
import importlib.util
import numpy as np
import ruda, ruda.store, ruda.tensor, ruda.nn, ruda.data, ruda.models
from ruda.store import TensorIndex, TensorSnapshot, save
assert importlib.util.find_spec("PySide6") is None, "PySide6 came along without the app extra"
values = np.arange(6, dtype="<f4").reshape(2, 3)
index = TensorIndex.of([TensorSnapshot.from_array("w", values)], format="memory")
save(index, "w.bpk")
print("saved with ruda", ruda.__version__)
CODE
"$work/empty/bin/ruda" inspect w.bpk --json --sha256
code=0
QT_QPA_PLATFORM=offscreen "$work/empty/bin/ruda-workbench" 2>"$work/said" || code=$?
[ "$code" = 2 ] && grep -q 'ruda\[app\]' "$work/said" || { echo "ruda-workbench without Qt: code $code"; cat "$work/said"; exit 1; }
echo "wheel smoke: fine"
