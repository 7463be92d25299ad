"""Texts: none that a person reads is outside of ``tr``, and every one of them has a German text."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QTableView, QWidget

from ruda.models import architectures
from ruda.session import read_catalogue, use_catalogue
from ruda_workbench.application import Shell, build_window, let_go, settle
from ruda_workbench.assets import resources
from ruda_workbench.main_window import MainWindow
from ruda_workbench.storage import Storage

FREE_FILES = {"about.py", "shots.py", "self_test.py", "__main__.py", "display.py", "style_sheet.py"}
"""Tools for the terminal and the developer, the style sheet, and names of packages' fields."""
FREE_TEXTS = {
    "Ruda",
    " – Ruda",
    "Fusion",
    "DejaVu Sans",
    "Aa",
    "BatchNorm",
    "Rudapack",
    "English",
    "Deutsch",
    "PyTorch",
    "NumPy",
}
"""Names, and what is the same in every language."""
NO_TEXT = {
    "setObjectName",
    "setProperty",
    "set_role",
    "getattr",
    "findChild",
    "import_module",
    "TypeVar",
    "paint_icon",
    "icon",
    "QKeySequence",
    "_open_once",
}
MARKERS = {"tr", "later", "counted"}
KEYS = re.compile(r"((Ctrl|Alt|Shift)\+|F\d)")
MODIFIED = re.compile(r"(Ctrl|Alt|Shift)\+(?!click)")


def called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def is_text(text: str) -> bool:
    """True for what looks like words for a person: a capital first, or several words."""
    if not re.search("[A-Za-z]{2}", text) or KEYS.match(text) or text in FREE_TEXTS:
        return False
    if re.fullmatch(r"(\.\w+ *)+", text):
        return False
    if re.fullmatch(r"(\w+ \(\*[^)]*\);*)+|[A-Z]\w+(Workspace|Format)", text):
        return text.startswith("Weights (")
    if re.fullmatch("[A-Z][A-Za-z]*", text):
        return any(letter.islower() for letter in text)
    return " " in text.strip() or text.endswith("…")


def parents_of(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def is_outside(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """True for a text that no marker encloses and that no exception takes away."""
    below = node
    while below in parents:
        above = parents[below]
        if isinstance(above, ast.Raise):
            return False
        if isinstance(above, ast.Call) and called(above) in MARKERS | NO_TEXT:
            return False
        if isinstance(above, ast.Expr) and below is not node and isinstance(below, ast.Constant):
            return False
        below = above
    return not isinstance(parents.get(node), ast.Expr)


def outside(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of every literal that a person may read and that does not go through tr."""
    tree = ast.parse(source)
    parents = parents_of(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if is_text(node.value) and is_outside(node, parents):
            yield node.lineno, node.value


def marked(source: str) -> Iterator[str]:
    """Every text that goes through tr, later, counted, or the table of settings."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        if name in ("tr", "later") and node.args:
            yield from literals(node.args[0])
        elif name == "counted" and len(node.args) > 1 and is_literal(node.args[1]):
            one = node.args[1].value
            yield one
            yield node.args[2].value if len(node.args) > 2 else f"{one}s"
        elif name == "Meta":
            named = {k.arg: k.value for k in node.keywords}
            yield from (named[k].value for k in ("title", "description") if k in named)


def literals(node: ast.AST) -> Iterator[str]:
    """The text of an argument, or both of a choice."""
    if isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)
    elif is_literal(node):
        yield node.value


def is_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def sources(project: Path) -> Iterator[Path]:
    for shelf in ("app/ruda_workbench", "core/ruda/session"):
        yield from sorted((project / shelf).rglob("*.py"))


@pytest.fixture(scope="module")
def german() -> dict[str, str]:
    return dict(read_catalogue(resources() / "translations" / "de.toml"))


@pytest.fixture(scope="module")
def texts(project: Path) -> set[str]:
    return {text for path in sources(project) for text in marked(path.read_text("utf-8"))}


def test_no_text_of_the_window_is_outside(project: Path) -> None:
    rooms = [*(project / "app/ruda_workbench").rglob("*.py")]
    rooms += [*(project / "core/ruda/session/pages").rglob("*.py")]
    found = [
        f"{path.relative_to(project)}:{line} {text!r}"
        for path in sorted(rooms)
        if path.name not in FREE_FILES and path.parent.name != "scenes"
        for line, text in outside(path.read_text("utf-8"))
    ]
    # Notes about files of our own, which are read before the language is known.
    early = "app/ruda_workbench/storage.py:"
    late = "; English is used'"  # said where the catalogue itself cannot be read
    assert [f for f in found if not f.startswith(early) and not f.endswith(late)] == []


def test_this_check_can_fail() -> None:
    source = 'def f(w):\n    """Doc."""\n    w.setText("Open it")\n    w.setText(tr("Close"))\n'
    assert list(outside(source)) == [(3, "Open it")]


def test_every_text_has_a_german_one(texts: set[str], german: dict[str, str]) -> None:
    assert sorted(texts - set(german)) == []


def test_no_text_names_keys_which_are_the_platforms_own(texts: set[str]) -> None:
    assert sorted(text for text in texts if MODIFIED.search(text)) == []


def test_no_german_text_is_left_over(texts: set[str], german: dict[str, str]) -> None:
    assert sorted(set(german) - texts) == []


def test_german_texts_have_the_same_placeholders(german: dict[str, str]) -> None:
    def places(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}

    assert {en: de for en, de in german.items() if places(en) != places(de)} == {}


def test_german_texts_keep_what_surrounds_them(german: dict[str, str]) -> None:
    def ends(text: str) -> tuple[bool, bool, bool]:
        return (text[:1].isspace(), text[-1:].isspace(), text.endswith("…"))

    assert {en: de for en, de in german.items() if ends(en) != ends(de)} == {}


# A language in which every text stands in brackets shows what does not go through tr.

OPENING, CLOSING = "⟦", "⟧"
KEY_NAMES = re.compile(r"\b(Ctrl|Shift|Alt|F\d+)\b[+\w,.]*")


def visible_texts(window: QWidget) -> Iterator[str]:
    for kind in (QLabel, QAbstractButton):
        for widget in window.findChildren(kind):
            if widget.isVisible():
                yield widget.text()
                yield widget.toolTip()
    for field in window.findChildren(QLineEdit):
        if field.isVisible():
            yield field.placeholderText()
    for table in window.findChildren(QTableView):
        model = table.model()
        if table.isVisible() and model is not None:
            for column in range(min(12, model.columnCount())):
                yield str(model.headerData(column, Qt.Orientation.Horizontal) or "")
    for action in window.findChildren(QAction):
        yield action.text()


def naked(text: str) -> str:
    """What is left of a text without what stands in brackets."""
    before = None
    while before != text:
        before, text = text, re.sub(f"{OPENING}[^{OPENING}{CLOSING}]*{CLOSING}", "", text)
    return text


def shown(name: str) -> Callable[[MainWindow], None]:
    return lambda window: window.show_workspace(name)


STAGES = {
    "weights": shown("weights"),
    "compare": shown("compare"),
    "data": shown("data"),
    "run": shown("run"),
    "settings": MainWindow.open_settings,
    "guide": MainWindow.open_guide,
    "about": MainWindow.open_about,
    "jobs": lambda window: window.show_drawer("jobs"),
    "history": lambda window: window.show_drawer("history"),
    "messages": lambda window: window.show_drawer("messages"),
}


@pytest.mark.gui
@pytest.mark.parametrize("name", STAGES)
def test_a_screen_in_brackets_has_no_naked_word(
    qapp: QApplication,
    tmp_path: Path,
    texts: set[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    brackets = {text: f"{OPENING}{text}{CLOSING}" for text in texts}
    monkeypatch.setattr(
        "ruda_workbench.language.use_language", lambda _: use_catalogue(brackets) or ""
    )
    window = build_window(qapp, Storage(tmp_path / "config"), theme="light")
    try:
        window.resize(1440, 900)
        window.show()
        STAGES[name](window)
        settle(window)
        found = {KEY_NAMES.sub("", naked(text)).strip() for text in visible_texts(window)}
    finally:
        let_go(window)
        use_catalogue({})
    names = {
        text for each in architectures() for text in (each.title, f"{each.name}   {each.title}")
    }
    assert {t for t in found if is_text(t)} - names - {str(tmp_path / "config")} == set()


@pytest.mark.gui
def test_the_window_changes_its_language_and_keeps_everything(
    qapp: QApplication, storage: Storage, make_file: Callable[..., Path]
) -> None:
    window = build_window(qapp, storage, theme="light")
    shell = Shell(window)
    window.show()
    window.open_paths([make_file({"a.0": (2,), "a.1": (2,)})])
    settle(window)
    session = window.context.session
    document = session.active
    assert document is not None
    session.edit(document.id, "Rule", document.recipe.with_rule("a", "b"))
    settle(window)
    window.open_settings()
    button = window.findChild(QAbstractButton, "settings.language.de")
    assert button is not None
    button.click()
    qapp.processEvents()
    made = shell.window
    assert made is not window
    settle(made)
    assert isinstance(made, MainWindow)
    assert made.isVisible()
    assert made.findChild(QAbstractButton, "rail.weights").text() == "Gewichte"
    assert made.windowTitle() == "made.safetensors – Ruda"
    assert made.book.run("edit.undo")
    assert session.active is not None
    assert session.active.recipe.is_identity
    assert storage.settings.language == "de"
    let_go(made)
    use_catalogue({})
