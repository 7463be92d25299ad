"""Comparing and checking files on the command line."""

import json

import numpy as np
import pytest

from ruda.cli import main
from ruda.store import TensorIndex, TensorSnapshot, save


@pytest.fixture
def ruda(capsys):
    """Run a command; its code, stdout and stderr."""

    def run(*words):
        code = main([str(word) for word in words])
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return run


@pytest.fixture
def file(tmp_path):
    """Write a safetensors file of arrays."""

    def make(name, **arrays):
        made = [TensorSnapshot.from_array(key, np.asarray(a)) for key, a in arrays.items()]
        path = tmp_path / name
        save(TensorIndex.of(made, format="memory"), path, metadata={"format": "pt"})
        return path

    return make


def test_compare_says_what_differs_and_where(ruda, file):
    a = file("a.safetensors", w=np.arange(4, dtype="f4"), x=np.ones(2))
    b = file("b.safetensors", w=np.array([0, 1, 2, 4], "f4"), y=np.ones(2))
    assert ruda("compare", a, a, "--values")[0] == 0
    code, out, _ = ruda("compare", a, b, "--values")
    assert code == 1
    assert "1 of 4 values differ" in out
    assert "w[3]: 3.0 and 4.0" in out
    assert "only left" in out
    assert "only right" in out


@pytest.fixture
def layers(file):
    """Two files of four layers: one is the same, two differ alike, one differs otherwise."""
    a = {f"layers.{at}.w": np.full((2, 3), at, "f4") for at in range(4)}
    b = {key: values + 1 for key, values in a.items()}
    b["layers.2.w"], b["layers.3.w"] = a["layers.2.w"], a["layers.3.w"] + [[0, 0, 0], [0, 9, 0]]
    rest = {"x": np.ones(3, "f4")}
    return (
        file("layers_a.safetensors", **a, **rest),
        file("layers_b.safetensors", **{k: v.astype("f4") for k, v in b.items()}, **rest),
    )


def test_compare_folds_what_differs_alike(ruda, layers):
    a, b = layers
    code, out, _ = ruda("compare", a, b, "--values")
    assert code == 1
    row = next(line for line in out.splitlines() if "layers.*.w" in line)
    assert row.split()[:3] == ["changed", "layers.*.w", "×3"]
    assert "3 of them differ  max 9 (layers.3.w), mean 1.17" in row
    assert "layers.0.w[0, 0]: 0.0 and 1.0" in out
    assert "layers.1.w" not in out
    assert "--all shows every tensor" in out
    alike = ruda("compare", a, b, "--values", "--only", "layers.[01].")[1]
    assert "layers.*.w  ×2  [2, 3]  f32  6 of 6 values differ, each  max 1" in alike


def test_compare_shows_every_tensor_where_it_is_told(ruda, layers):
    a, b = layers
    out = ruda("compare", a, b, "--values", "--all")[1]
    rows = [line.split()[:2] for line in out.splitlines() if line[:4] in ("  ch", "  sa")]
    assert rows == [
        ["changed", "layers.0.w"],
        ["changed", "layers.1.w"],
        ["same", "layers.2.w"],
        ["changed", "layers.3.w"],
        ["same", "x"],
    ]
    assert "--all shows" not in out


def test_the_json_of_compare_has_every_tensor_with_its_numbers(ruda, layers):
    a, b = layers
    data = json.loads(ruda("compare", a, b, "--values", "--json")[1])
    found = {row["key"]: row["values"] and row["values"]["max_absolute"] for row in data["rows"]}
    names = {"layers.0.w": 1, "layers.1.w": 1, "layers.2.w": 0, "layers.3.w": 9, "x": 0}
    assert found == names


def test_compare_by_headers_folds_one_sided_families(ruda, layers, file):
    out = ruda("compare", layers[0], file("other.safetensors", y=np.ones(2)))[1]
    assert "only left   layers.*.w  ×4  [2, 3]  f32" in out


def test_compare_of_names_that_never_meet_says_who_finds_steps(ruda, file):
    a, b = file("a.safetensors", w=np.zeros(4)), file("b.safetensors", v=np.zeros(4))
    assert "`ruda suggest A B` looks for steps" in ruda("compare", a, b)[1]
    assert "suggest" not in ruda("compare", a, b, "--remap-b", "v", "w")[1]
    wide = file("c.safetensors", w=np.ones(4), x=np.zeros(2))
    assert "suggest" not in ruda("compare", a, wide)[1]


def test_compare_by_headers_says_so(ruda, file):
    a, b = file("a.safetensors", w=np.zeros(4)), file("b.safetensors", w=np.ones(4))
    code, out, _ = ruda("compare", a, b)
    assert code == 0
    assert "values were not compared" in out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param([], 1, id="exact"),
        pytest.param(["--atol", "0.01"], 0, id="atol"),
        pytest.param(["--rtol", "0.01"], 0, id="rtol"),
        pytest.param(["--ulp", "1"], 0, id="ulp"),
    ],
)
def test_compare_with_tolerances(ruda, file, words, code):
    a = file("a.safetensors", w=np.float32(1))
    b = file("b.safetensors", w=np.nextafter(np.float32(1), np.float32(2)))
    assert ruda("compare", a, b, "--values", *words)[0] == code


def test_compare_remaps_the_left_side(ruda, file):
    a = file("a.safetensors", **{"module.w": np.zeros(4)})
    b = file("b.safetensors", w=np.zeros(4))
    code, out, _ = ruda("compare", a, b, "--values", "--remap", r"^module\.", "", "--json")
    assert code == 0
    assert json.loads(out)["counts"]["same"] == 1
    assert ruda("compare", b, a, "--values", "--remap-b", r"^module\.", "")[0] == 0


def test_compare_takes_a_recipe_for_either_file(ruda, file, tmp_path):
    a = file("a.safetensors", **{"m.fc.weight": np.arange(6, dtype="f4").reshape(2, 3)})
    b = file("b.safetensors", fc_w=np.arange(6, dtype="f4").reshape(2, 3).T, rest=np.ones(2))
    words = ("compare", a, b, "--values")
    assert ruda(*words)[0] == 1
    whole = ("--remap", r"^m\.", "", "--decide", "fc.weight", "transpose 1,0")
    second = ("--remap-b", "^fc_w$", "fc.weight", "--except-b", "rest")
    code, out, _ = ruda(*words, *whole, *second)
    assert (code, "values compared" in out) == (0, True)
    saved = tmp_path / "b.toml"
    ruda("convert", b, tmp_path / "o.bpk", "--remap", *second[1:3], "--save-recipe", saved)
    code, out, _ = ruda(*words, *whole, "--recipe-b", saved, "--cast-b", "f16")
    assert (code, "dtype f32 and f16" in out) == (1, True)
    assert ruda("compare", a, b, "--remap-b", "(", "")[0] == 2


def test_compare_looks_only_where_it_is_told(ruda, file, tmp_path):
    a = file("a.safetensors", w=np.ones(2), x=np.ones(3))
    b = file("b.safetensors", w=np.ones(2), y=np.ones(3))
    code, out, _ = ruda("compare", a, b, "--values", "--only", "^w$")
    assert (code, "2 keys are outside of what is compared" in out) == (0, True)
    page = tmp_path / "page.html"
    ruda(
        "compare",
        a,
        b,
        "--html",
        page,
        "--csv",
        tmp_path / "t.csv",
        "--markdown",
        tmp_path / "t.md",
    )
    assert "only left" in page.read_text("utf-8")
    assert (tmp_path / "t.csv").exists()
    assert (tmp_path / "t.md").exists()
    code, _, err = ruda("compare", a, b, "--html", b)
    assert (code, "b.safetensors" in err) == (2, True)


def test_compare_refuses_what_means_nothing(ruda, file, tmp_path):
    a = file("a.safetensors", w=np.zeros(4))
    code, _, err = ruda("compare", a, a, "--atol", "1")
    assert code == 2
    assert "add --values" in err
    code, _, err = ruda("compare", a, tmp_path / "none.safetensors")
    assert code == 2
    assert "none.safetensors" in err


def test_check_finds_what_is_wrong_with_values_only_when_asked(ruda, file):
    path = file("a.safetensors", w=np.array([1, np.nan], "f4"))
    assert ruda("check", path)[0] == 0
    code, out, _ = ruda("check", path, "--values")
    assert code == 1
    assert "error [nan] w: 1 of 2 values are NaN" in out


def test_check_speaks_json_and_sarif(ruda, file):
    path = file("a.safetensors", w=np.zeros((2, 2), "f4"))
    code, out, _ = ruda("check", path, "--values", "--format", "json")
    assert (code, json.loads(out)["findings"][0]["rule"]) == (1, "all-zero")
    code, out, _ = ruda("check", path, "--values", "--format", "sarif")
    assert (code, json.loads(out)["runs"][0]["results"][0]["ruleId"]) == (1, "all-zero")


REFUSED = [
    pytest.param(b"version https://git-lfs.github.com/spec/v1\noid x\n", "git lfs pull", id="lfs"),
    pytest.param(b"<!DOCTYPE html><html></html>", "HTML page", id="html"),
    pytest.param(b"", "empty", id="empty"),
    pytest.param(b"\x10\0\0\0\0\0\0\0{", "bytes", id="truncated"),
]


@pytest.mark.parametrize(("content", "sentence"), REFUSED)
def test_check_refuses_what_is_no_weight_file(ruda, file, tmp_path, content, sentence):
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(content)
    good = file("good.safetensors", w=np.arange(4, dtype="f4"))
    code, out, err = ruda("check", bad, good)
    assert code == 2
    assert sentence in err
    assert "good.safetensors" in out
    code, out, _ = ruda("check", bad, "--format", "sarif")
    assert code == 2
    assert json.loads(out)["runs"][0]["results"][0]["ruleId"] == "refused"


def test_diff_writes_its_report_in_three_forms(ruda, file, tmp_path):
    a, b = file("a.safetensors", w=np.zeros(4)), file("b.safetensors", w=np.zeros(4))
    names = [tmp_path / name for name in ("r.html", "r.csv", "r.md")]
    words = ["--html", names[0], "--csv", names[1], "--markdown", names[2]]
    assert ruda("diff", a, b, *words)[0] == 0
    html, csv, markdown = [name.read_text("utf-8") for name in names]
    assert all("applied" in text for text in (html, csv, markdown))
    assert b.name in html
    assert b.name in markdown.replace("\\", "")


def test_diff_does_not_replace_weights_by_a_report(ruda, file):
    a = file("a.safetensors", w=np.zeros(4))
    before = a.read_bytes()
    code, _, err = ruda("diff", a, a, "--html", a)
    assert code == 2
    assert "ends in .html or .htm" in err
    assert a.read_bytes() == before


def test_convert_reports_what_the_casts_do_before_writing(ruda, file, tmp_path):
    a = file("a.safetensors", w=np.array([1e6, 1], "f4"), n=np.arange(2))
    out = tmp_path / "out.safetensors"
    code, said, _ = ruda("convert", a, out, "--cast", "f16", "--report", "--dry-run")
    assert code == 1
    assert "overflow 1" in said
    assert not out.exists()
    assert ruda("convert", a, out, "--cast", "bf16", "--report")[0] == 0
    assert out.exists()


@pytest.mark.parametrize("name", ["f8_e4m3fn", "f8_e5m2", "int8"])
def test_convert_to_eight_bits_and_back(ruda, file, tmp_path, name):
    a = file("a.safetensors", w=np.arange(6, dtype="f4").reshape(2, 3))
    short, back = tmp_path / "short.safetensors", tmp_path / "back.safetensors"
    assert ruda("convert", a, short, "--cast", name, "--verify")[0] == 0
    assert ruda("convert", short, back, "--cast", "f32")[0] == 0
    assert ruda("compare", a, back, "--values", "--atol", "0.1")[0] == 0


def test_check_shows_a_file_without_tensors(ruda, file):
    code, out, _ = ruda("check", file("empty.safetensors"))
    assert code == 0
    assert "0 tensors" in out
