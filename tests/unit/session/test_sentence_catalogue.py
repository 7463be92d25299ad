"""The German of the library's sentences: every one that a screen may show has it, and is found."""

from __future__ import annotations

import ast
import errno
import os
import re
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ruda.session import read_catalogue
from ruda.session.sentences import LEAST, Book
from ruda.session.templates import JOINTS, Template

NOT_SHOWN = {
    "cli/": "the terminal is English",
    "testing/": "for those who write tests",
    "_kernels/": "the gate's refusals are for those who call kernels",
    "_doors.py": "an attribute that a module does not have",
    "record/": "the window keeps no training state",
    "tensor/xp/": "the array API, for scripts",
    "tensor/comparison.py": "for tests and scripts",
    "tensor/distribution.py": "random values, for scripts",
    "tensor/exchange.py": "other libraries' tensors, for scripts",
    "store/compare_report.py": "reports and exports are English in every language",
    "store/export_compare.py": "reports and exports are English in every language",
    "store/export_diff.py": "reports and exports are English in every language",
    "store/report_pages.py": "reports and exports are English in every language",
    "store/apply_result.py": "reports and exports are English in every language",
    "session/templates.py": "for those who write a catalogue",
    "session/sentences.py": "for those who write a catalogue",
    "store/stores.py": "RUDA's way of saving, for scripts",
}
"""Rooms and modules whose sentences no screen shows, and why."""

STILL_ENGLISH = {
    "tensor/operations/": "inside a model that computes; its layers refuse wrong inputs first",
    "tensor/methods/": "inside a model that computes; its layers refuse wrong inputs first",
    "tensor/promotion.py": "inside a model that computes; its layers refuse wrong inputs first",
    "tensor/tensor.py": "inside a model that computes; its layers refuse wrong inputs first",
}
"""What a screen could show and has no German yet. This list only shrinks."""

NO_SENTENCES = {
    "store/formats/_pickle_names.py": "names that a pickle may ask for",
    "store/formats/_pickle_out.py": "names that a pickle of ours asks for",
}
"""Modules with lists of words that are no sentences."""

SAME = {
    'pip install "ruda[{1}]"',
    "`aws s3 cp`",
    "`gcloud storage cp`",
    "`hf upload`",
    "BERT base",
    "MiniLM L6",
    "CREPE tiny",
    "Digit recognizer",
    "TinyLlama 1.1B",
    "Qwen2 0.5B",
    "Qwen3 0.6B",
    "Burn MNIST",
    "Burn import MNIST",
    "MTCNN P-Net",
    "MTCNN R-Net",
    "MTCNN O-Net",
    "class {1}",
    "bin {1}",
    "no face",
    "landmark {1}{2}",
    "torch.Tensor on the meta device",
    "[batch, time]",
    "[batch, {1}, …]",
    "[batch, time, {1}]",
    "[batch, {1}, depth, height, width]",
    "[batch, {1}, height, width]",
    "[batch, {1}, length]",
    "[batch, {1}{2}]",
    "[batch, channel, height, width]",
    "[batch, channel, length]",
    "[batch, channel, {1}]",
    "batch, time",
    "time, batch",
    "[…, time, {1}]",
    ", size",
    "qfloat {1}",
    "cast DTYPE",
    "clamp DTYPE",
    "transpose 1,0",
    "slice AXIS START:STOP",
    "pad AXIS BEFORE:AFTER VALUE",
    "reshape 10,1,3",
    "take FILE KEY",
    "remap {1} -> {2}",
    "ruda check",
}
"""Names, commands, shapes with named axes, and what is typed: the same in every language."""

UNSEEN = {
    "diff table": "a key of what is kept",
    "btime ": "a line of the system's",
    "bytes \\*/0": "a header of http",
    "np.array([{1}], dtype=np.{2})": "Python that is copied",
    ", top_level_key={1}": "Python that is copied",
    "a listener of job %r failed": "for the log",
    "Param({1}, {2}{3})": "a repr",
    ", lazy": "a repr",
    "in the header before the data": "a value of the writer's",
    "in a descriptor behind the data": "a value of the writer's",
    "{1}… ({2} long)": "a value of a pickle, cut short",
    "bytes verified": "a unit of progress",
    "{1} ({2} tensors, {3})": "the report of a check",
    "values read": "the report of a check",
    "headers only: values were not read": "the report of a check",
    "Scalar | Sequence[Nested]": "a type",
    "TensorData({1}, {2}, {3})": "a repr",
    "{1} onto {2}": "a title, said by the window itself",
    "note: {1}": "the report of a diff",
    "{1} to {2}: max error {3}, relative rms {4}, exact {5} of {6}": "the report of a conversion",
    "{1} of {2} tensors cast, {3} to {4} bytes; overflow {5}, to zero {6}, subnormal {7}": (
        "the report of a conversion"
    ),
    "to zero": "the report of a conversion",
    "of int8": "the report of a conversion",
    ", all whole numbers, of which some are rounded": "the report of a conversion",
    " (the first values only)": "the report of a conversion",
    "computed out of {1}: {2}": "the report of a conversion",
    "no value is lost by that": "the report of a conversion",
    "; {1} merged, {2} of them with values lost": "the report of a conversion",
    "{1}, {2} not merged": "the report of a conversion",
    "{1} onto {2}: {3} of {4} tensors would load, {5} with the steps below": (
        "the report of suggestions"
    ),
    "{1} a source and would not load, {2} first: {3}": "the report of suggestions",
    "1 tensor has": "the report of suggestions",
    "{1} tensors have": "the report of suggestions",
    "{1}or {2}": "the report of suggestions",
    "  no step is suggested": "the report of suggestions",
    "the {1} {2}": "a part of a Rudapack header, named in an error",
}
"""What looks like a sentence and is shown by no screen, and why."""

COMPOSED = {
    "{1} and {2}": "what is joined by ' and '",
    "{1} or {2}": "what is joined by ' or '",
    "{1}, or {2}": "what is joined by ', or '",
    "with": "a word in a place",
    "the adapter {1}": "what a hint does",
    "a cast to {1}": "what a hint does",
    "stripping {1}": "what a hint does",
    "adding {1}": "what a hint does",
    "the shape {1}": "'the {1} {2}' of a field called shape",
    "without": "a word in a place",
}


def template_of(node: ast.AST) -> str | None:
    """The text of a literal, places numbered; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return escaped(node.value)
    if not isinstance(node, ast.JoinedStr):
        return None
    parts, count = [], 0
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(escaped(str(value.value)))
        else:
            count += 1
            parts.append(f"{{{count}}}")
    return "".join(parts)


def escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def bare(template: str) -> str:
    return re.sub(r"\{\d+\}", " \0 ", template)


def is_sentence(template: str) -> bool:
    """True for words with a space between: what a person would read."""
    if " " not in template or "\n" in template or template.startswith(("<", "import ")):
        return False
    if "(?P" in template or "\\d" in template or "|con" in template or "<" in template[:3]:
        return False
    # A place and a word, or two words: a unit or a name alone is none.
    return bool(re.search(r"[a-z]{2,}", bare(template))) and bool(
        re.search(r"[A-Za-z]{2,}.*\s|\s.*[A-Za-z]{2,}", template)
    )


class Literal(NamedTuple):
    """A text of the sources, places numbered, and where it stands."""

    where: str
    text: str


def literals(source: str, name: str = "") -> Iterator[Literal]:
    """Every text but docstrings and what goes through ``tr``."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node, above in parents.items():
        text = template_of(node)
        if text is None or isinstance(above, ast.JoinedStr | ast.Expr):
            continue
        while isinstance(above, ast.IfExp | ast.keyword):
            above = parents[above]
        called = getattr(above.func, "id", "") if isinstance(above, ast.Call) else ""
        where = f"{name}:{getattr(node, 'lineno', 0)}"
        if called == "counted" and not name.startswith("session/"):  # there it goes through tr
            yield Literal(where, f"1 {text}")
            yield Literal(where, f"{{1}} {text}s")
        elif called not in ("tr", "later", "Meta", "counted"):
            yield Literal(where, text)


@pytest.fixture(scope="module")
def texts(project: Path) -> list[Literal]:
    """Every text of the library, and of what reads the window's files before it has a language."""
    root = project / "core/ruda"
    files = [*sorted(root.rglob("*.py")), project / "app/ruda_workbench/storage.py"]
    return [
        text
        for path in files
        for text in literals(
            path.read_text("utf-8"),
            path.relative_to(root if root in path.parents else project).as_posix(),
        )
    ]


@pytest.fixture(scope="module")
def templates(texts: list[Literal]) -> dict[str, str]:
    """Every template that a screen may show → where it stands."""
    apart = (*NOT_SHOWN, *STILL_ENGLISH, *NO_SENTENCES)
    shown = [each for each in texts if not each.where.startswith(apart) and is_sentence(each.text)]
    return {text: where for where, text in shown}


@pytest.fixture(scope="module")
def german(project: Path) -> dict[str, str]:
    return dict(read_catalogue(project / "resources/translations/de.library.toml"))


OF_THE_SYSTEM = {
    "No such file or directory": errno.ENOENT,
    "Permission denied": errno.EACCES,
    "Operation not permitted": errno.EPERM,
    "File exists": errno.EEXIST,
    "No space left on device": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "File too large": errno.EFBIG,
    "Is a directory": errno.EISDIR,
    "Not a directory": errno.ENOTDIR,
    "Input/output error": errno.EIO,
    "Read-only file system": errno.EROFS,
    "Too many open files": errno.EMFILE,
    "File name too long": errno.ENAMETOOLONG,
    "Cannot allocate memory": errno.ENOMEM,
    "Device or resource busy": errno.EBUSY,
    "Connection timed out": errno.ETIMEDOUT,
    "Connection refused": errno.ECONNREFUSED,
    "Too many levels of symbolic links": errno.ELOOP,
}
"""What Linux says in places of the library's sentences; other systems say some otherwise."""

OF_PYTHON = {"[Errno {1}] {2}: {3}", "[Errno {1}] {2}"}

OF_PATTERNS = {
    "missing ), unterminated subpattern": "(",
    "unbalanced parenthesis": ")",
    "nothing to repeat": "*",
    "multiple repeat": "a**",
    "unterminated character set": "[",
    "bad escape {1}": r"\q",
    "bad escape (end of pattern)": "\\",
    "bad character range {1}": "[b-a]",
    "unknown extension {1}": "(?P>a)",
    "min repeat greater than max repeat": "a{2,1}",
    "look-behind requires fixed-width pattern": "(?<=a*)b",
    "invalid group reference {1}": r"\1",
}
"""What Python says of a pattern that is no regular expression → such a pattern."""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other words")
def test_the_system_says_what_we_translate() -> None:
    assert {text: os.strerror(code) for text, code in OF_THE_SYSTEM.items()} == {
        text: text for text in OF_THE_SYSTEM
    }


@pytest.mark.parametrize("text", OF_PATTERNS)
def test_python_says_of_patterns_what_we_translate(text: str, german: dict[str, str]) -> None:
    with pytest.raises(re.error) as caught:
        re.compile(OF_PATTERNS[text])
    assert Template(text, "").values(caught.value.msg) is not None
    assert Book(lambda: german).said(caught.value.msg)


def behind(template: str) -> str:
    """What stands behind a place and a colon, which any sentence may have before it."""
    rest = template.removeprefix("{1}: ")
    if rest == template:
        return template
    return re.sub(r"\{(\d+)\}", lambda place: f"{{{int(place[1]) - 1}}}", rest)


def test_every_sentence_that_a_screen_shows_has_a_german_one(
    templates: dict[str, str], german: dict[str, str]
) -> None:
    known = {*german, *SAME, *UNSEEN}
    left = {text: where for text, where in templates.items() if text not in known}
    assert [f"{where} {text!r}" for text, where in left.items() if behind(text) not in known] == []


def test_no_german_sentence_is_left_over(texts: list[Literal], german: dict[str, str]) -> None:
    said = {text for _, text in texts}
    known = {*COMPOSED, *OF_THE_SYSTEM, *OF_PYTHON, *OF_PATTERNS}
    assert [text for text in german if text not in said and text not in known] == []


def test_no_exception_is_left_over(templates: dict[str, str], german: dict[str, str]) -> None:
    assert [text for text in (*SAME, *UNSEEN) if text not in templates] == []
    assert sorted({*SAME, *UNSEEN} & set(german)) == []


def test_these_checks_can_fail() -> None:
    source = (
        'def f(n):\n    """Doc string."""\n    raise E(f"the file {n!r} has {n} bytes" "; stop")\n'
    )
    assert list(literals(source)) == [(":3", "the file {1} has {2} bytes; stop")]
    assert is_sentence("the file {1} has {2} bytes; stop")
    assert not is_sentence("{1}.{2}")


def places(text: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]


def test_german_sentences_have_the_places_of_the_english(german: dict[str, str]) -> None:
    odd = {en: de for en, de in german.items() if not set(places(de)) <= set(places(en))}
    assert odd == {}
    twice = {en: de for en, de in german.items() if len(places(de)) != len(set(places(de)))}
    assert twice == {}
    dropped = {en for en, de in german.items() if set(places(de)) != set(places(en))}
    assert dropped == {
        # A file or a folder: German says neither.
        "{1}: no dataset source recognises this {2}; known: {3}",
        # "belongs" and "belong", "is" and "are": German says both alike.
        "{1} {2} to no known kind of module: not adapted",
        "{1} {2} applied by your decision, {3} first, with values cut off, padded, or of another"
        " file",
    }


def test_german_sentences_keep_what_surrounds_them(german: dict[str, str]) -> None:
    def ends(text: str) -> tuple[bool, bool, bool]:
        return (text[:1].isspace(), text[-1:].isspace(), text.startswith(("; ", ", ")))

    assert {en: de for en, de in german.items() if ends(en) != ends(de)} == {}


def test_every_sentence_is_found_among_all_others(german: dict[str, str]) -> None:
    """The most specific template wins: a sentence with values in its places is said as itself."""
    book = Book(lambda: german)
    odd = {}
    for english, other in german.items():
        values = {place: f"w{place}" for place in places(english)}
        text = english.format(*[""], *values.values())
        expected = re.sub(":(words|any)}", "}", other).format(*[""], *values.values())
        template = Template(english, other)
        short = bool(places(english)) and template.letters < LEAST
        said = book.said(text, words=short and not english.startswith(JOINTS))
        if said != expected:
            odd[text] = said
    assert odd == {}


SAID = {
    "shape: the file has [32, 8], the target expects [8, 32]; the axes are swapped, as between "
    "PyTorch and Ruda for Linear": (
        "Form: die Datei hat [32, 8], das Ziel erwartet [8, 32]; die Achsen sind vertauscht, wie "
        "zwischen PyTorch und Ruda bei Linear"
    ),
    "dtype: the file has f16, the target expects f32; cast it to f32": (
        "Typ: die Datei hat f16, das Ziel erwartet f32; in f32 umwandeln"
    ),
    "'a' and 'b' would both become 'c' by remap '^[ab]' -> 'c'": (
        "'a' und 'b' würden beide zu 'c' durch remap '^[ab]' -> 'c'"
    ),
    "enc.* -> layers.*: of 3 × 2 families with these shapes, the names fit best by a clear margin; "
    "the same rule matches 5 more": (
        "enc.* -> layers.*: von 3 × 2 Familien mit diesen Formen passen die Namen mit klarem "
        "Abstand am besten; dieselbe Regel trifft 5 mehr"
    ),
    "12 of 14 open keys are in the target without 'module.' before them, with the same shapes": (
        "12 von 14 offenen Schlüsseln stehen im Ziel ohne 'module.' davor, mit denselben Formen"
    ),
    "the keys are those of Hugging Face's BERT: names, layouts and blocks are known": (
        "die Schlüssel sind die von BERT von Hugging Face: Namen, Anordnung und Blöcke sind bekannt"
    ),
    "/my files/m.safetensors: byte 0: the header claims 99 bytes, but only 3 follow; the file is "
    "cut short or is no safetensors file": (
        "/my files/m.safetensors: Byte 0: der Kopf nennt 99 Bytes, aber nur 3 folgen; die Datei "
        "ist abgeschnitten oder keine safetensors-Datei"
    ),
    "/m.pt: the pickle in it asks for os.system, which could run code; nothing was run, and the "
    "file is refused": (
        "/m.pt: der Pickle darin verlangt os.system, was Code ausführen könnte; nichts wurde "
        "ausgeführt, und die Datei wird verweigert"
    ),
    "cannot be saved: safetensors has no tag for qfloat; cast it to f32, which dequantises it, or "
    "save as Rudapack (and 2 more problems)": (
        "kann nicht gesichert werden: safetensors hat kein Zeichen für qfloat; in f32 umwandeln, "
        "was ihn dequantisiert, oder als Rudapack sichern (und 2 weitere Probleme)"
    ),
    "/out.bpk: cannot be written: No space left on device": (
        "/out.bpk: nicht zu schreiben: kein Platz mehr auf der Platte"
    ),
    "nothing was loaded: Shape mismatch for 'b': expected [2], found [3] (and 3 more)": (
        "nichts wurde geladen: Form passt nicht bei 'b': erwartet wurde [2], gefunden wurde [3] "
        "(und 3 weitere)"
    ),
    "nothing was loaded: Shape mismatch for 'b': expected [2], found [3] (and 3 more); the adapter "
    "pytorch-to-ruda would match 6": (
        "nichts wurde geladen: Form passt nicht bei 'b': erwartet wurde [2], gefunden wurde [3] "
        "(und 3 weitere); der Adapter pytorch-to-ruda träfe 6"
    ),
    "digits, item 5: cannot be read: the file was closed": (
        "digits, Element 5: nicht lesbar: die Datei wurde geschlossen"
    ),
    "3 float tensors belong to no known kind of module: not adapted": (
        "keine bekannte Modulart, daher nicht angepasst: 3 Gleitkomma-Tensoren"
    ),
    "remap: the pattern '(' is not a regular expression: missing ), unterminated subpattern at "
    "position 0": (
        "remap: das Muster '(' ist kein regulärer Ausdruck: eine Klammer wird nicht geschlossen an "
        "Stelle 0"
    ),
}
"""What people see most → how it is said: sentences that are put together of several."""


@pytest.mark.parametrize("text", SAID)
def test_whole_texts_are_said(text: str, german: dict[str, str]) -> None:
    assert Book(lambda: german).said(text) == SAID[text]
