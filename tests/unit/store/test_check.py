from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ruda.store import (
    RULES,
    CheckReport,
    Finding,
    Origin,
    Severity,
    TensorIndex,
    TensorSnapshot,
    check,
    open_store,
    save,
    to_sarif,
)
from ruda.store.scales import scale_key
from ruda.tensor import DType

F = np.float32


def index(arrays, *, format="memory", **fields):
    made = [TensorSnapshot.from_array(key, np.asarray(value)) for key, value in arrays.items()]
    return TensorIndex.of(made, format=format, **fields)


def rules(report):
    return [(finding.rule, finding.key) for finding in report.findings]


def layers(count, dtype=F, name="layers"):
    return {f"{name}.{n}.weight": np.arange(2, dtype=dtype) for n in range(count)}


HALF = DType.BF16.numpy
HEADERS = [
    pytest.param(layers(4), [], id="healthy"),
    pytest.param(
        layers(8) | {"layers.5.weight": np.ones(2)},
        [("dtype-outlier", "layers.5.weight")],
        id="outlier",
    ),
    pytest.param(
        layers(4) | {"layers.1.weight": np.ones(2), "layers.2.weight": np.ones(2, "i4")},
        [],
        id="no majority",
    ),
    pytest.param(layers(2) | {"layers.1.weight": np.ones(2)}, [], id="two are no majority"),
    pytest.param(
        {"a": np.ones(2, "f2"), "b": np.ones(2, HALF)}, [("dtype-mixture", None)], id="two halves"
    ),
    pytest.param(
        layers(3) | {"layers.1.weight": np.zeros(0, F)},
        [("empty-placeholder", "layers.1.weight")],
        id="placeholder",
    ),
    pytest.param({"a": np.zeros((0, 3))}, [], id="nothing but an empty tensor"),
    pytest.param(
        {k: v for k, v in layers(6).items() if "3" not in k},
        [("layer-gap", "layers.5.weight")],
        id="gap",
    ),
    pytest.param({"net.0.weight": F(1), "net.2.weight": F(1)}, [], id="a sequential has gaps"),
    pytest.param(
        {"model.embed_tokens.weight": np.ones((9, 2)), "lm_head.weight": np.ones((7, 2))},
        [("tied-head", "lm_head.weight")],
        id="head of another size",
    ),
    pytest.param(
        {"model.embed_tokens.weight": np.ones((9, 2)), "lm_head.weight": np.ones((9, 2), F)},
        [("tied-head", "lm_head.weight")],
        id="head of another dtype",
    ),
    pytest.param(
        {"a.weight": np.ones(2, DType.F8_E4M3FN.numpy), "a.weight_scale_inv": F(1)},
        [("fp8-scale", "a.weight")],
        id="scaled fp8",
    ),
    pytest.param({"a.weight": np.ones(2, F), "a.weight_scale": F(1)}, [], id="scaled f32 is plain"),
]


@pytest.mark.parametrize(("arrays", "expected"), HEADERS)
def test_headers(arrays, expected):
    assert rules(check(index(arrays))) == expected


VALUES = [
    pytest.param(
        {"a": np.array([1, np.nan], F)}, "nan", "error", "1 of 2 values are NaN", id="NaN"
    ),
    pytest.param(
        {"a": np.array([np.inf, -np.inf, np.inf], F)},
        "infinity",
        "error",
        "2 values are +Inf and 1 -Inf of 3",
        id="infinities",
    ),
    pytest.param({"a": np.zeros((2, 2))}, "all-zero", "warning", "all 4 values", id="zero matrix"),
    pytest.param({"a": np.zeros(2)}, "all-zero", "note", "all 2 values are zero", id="zero bias"),
    pytest.param({"a": np.full((2, 2), 3.0)}, "constant", "warning", "are 3.0", id="constant"),
    pytest.param({"a": np.ones(4)}, "constant", "note", "are 1.0", id="a fresh norm"),
    pytest.param(
        {"bn.num_batches_tracked": F(1.5)}, "non-integral", "warning", "1 of 1", id="half a batch"
    ),
    pytest.param(
        {"position_ids": np.arange(3, dtype=F)},
        "integers-as-floats",
        "note",
        "as f32",
        id="whole floats",
    ),
    pytest.param(
        {"a": np.array([1, 1e-7], "f2")}, "subnormal", "warning", "50 % of", id="subnormals"
    ),
    pytest.param({"a": np.array([1, np.nan * 1j], "c8")}, "nan", "error", "NaN", id="complex"),
]


@pytest.mark.parametrize(("arrays", "rule", "severity", "sentence"), VALUES)
def test_values(arrays, rule, severity, sentence):
    made = index(arrays)
    assert check(made).findings == ()
    (finding,) = check(made, values=True).findings
    assert (finding.rule, finding.severity.value) == (rule, severity)
    assert sentence in finding.sentence


def test_sound_values_have_no_finding():
    rng = np.random.default_rng(0)
    arrays = {"w": rng.normal(size=(8, 8)).astype(F), "n": np.array(7), "flag": np.array([True])}
    assert check(index(arrays), values=True).findings == ()


def test_headers_alone_read_no_value():
    class Unread:
        def read(self):
            raise AssertionError("read")

    snapshot = TensorSnapshot("a", DType.F32, (2,), 8, Unread())
    report = check(TensorIndex.of([snapshot], format="memory"))
    assert "values were not read" in report.summary


def test_what_the_reader_remarked_is_a_finding(tmp_path):
    note = "b.safetensors has 1 tensors that are not in the index: 'x'"
    report = check(index({}, notes=(note, "plain"), shards=(tmp_path / "b.safetensors",)))
    assert [(f.rule, f.severity.value) for f in report.findings] == [
        ("shard-index", "warning"),
        ("reader-note", "note"),
    ]


def test_a_pickle_that_asks_for_code_is_a_warning():
    report = check(index({}, unsafe=("os.system",)))
    assert "os.system" in str(report)
    assert not report.is_healthy


def test_a_file_without_its_format_is_a_note(tmp_path):
    made = index({"a": np.arange(3)})
    save(made, tmp_path / "a.safetensors")
    save(made, tmp_path / "b.safetensors", metadata={"format": "pt"})
    with open_store(tmp_path / "a.safetensors") as a, open_store(tmp_path / "b.safetensors") as b:
        assert rules(check(a)) == [("format-missing", None)]
        assert check(a).is_healthy
        assert check(b).findings == ()


def test_values_at_odd_bytes_are_noted(tmp_path):
    snapshot = TensorSnapshot.from_array("a", np.ones(2, F))
    odd = replace(snapshot, origin=Origin(tmp_path / "x", 13, 8))
    (finding,) = check(TensorIndex.of([odd], format="memory")).findings
    assert (finding.rule, finding.offset) == ("unaligned", 13)


SCALES = [
    pytest.param("a.weight", ["a.weight_scale_inv"], "a.weight_scale_inv", id="DeepSeek"),
    pytest.param("a.weight", ["a.weight_scale"], "a.weight_scale", id="compressed tensors"),
    pytest.param("a.weight", ["a.scale_weight"], "a.scale_weight", id="scale before"),
    pytest.param("weight", ["weight_scale"], "weight_scale", id="at the root"),
    pytest.param("a.weight", ["b.weight_scale"], None, id="of another"),
]


@pytest.mark.parametrize(("key", "keys", "expected"), SCALES)
def test_keys_of_scales(key, keys, expected):
    assert scale_key(key, keys) == expected


def test_the_worst_comes_first_and_counts_are_complete():
    findings = [Finding("constant", s, "x") for s in reversed(Severity)]
    report = CheckReport("f", tuple(findings))
    assert [f.severity for f in report.findings] == list(Severity)
    assert set(report.counts.values()) == {1}


def test_sarif_has_what_the_standard_requires():
    finding = Finding("nan", Severity.ERROR, "1 value", "a<b>", 12)
    log = to_sarif([CheckReport("a b.safetensors", (finding,))], version="1.2")
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "nan"
    assert result["level"] == "error"
    assert result["message"] == {"text": "a<b>: 1 value"}
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "a%20b.safetensors"}
    assert location["physicalLocation"]["region"] == {"byteOffset": 12, "byteLength": 0}
    json.dumps(log)


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        pytest.param("/a/b c", "file:///a/b%20c", id="absolute"),
        pytest.param("https://x/y", "https://x/y", id="address"),
        pytest.param("a:b", "a%3Ab", id="no scheme"),
        pytest.param("\udcff", "%FF", id="bytes that are no text"),
    ],
)
def test_sarif_names_files_by_address(path, uri):
    finding = Finding("refused", Severity.ERROR, "x")
    log = to_sarif([CheckReport(path, (finding,))], version="1")
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": uri}}


def test_every_rule_is_described():
    assert all(text.endswith(".") for text in RULES.values())
