"""The recipe card under a load diff: layout, remap rules with their live effect, suggestions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from ruda.progress import SILENT, Monitor
from ruda.session import (
    Document,
    JobFailure,
    RuleDraft,
    RulesPage,
    SuggestLine,
    SuggestPreview,
    drafts_of,
    edit_title,
    later,
    layout_of,
    layout_offers,
    preset_offers,
    rule_from_keys,
    rules_page,
    suggest_preview,
    tr,
)
from ruda.store import DiffRow, Status
from ruda_workbench import operations, recipe_files
from ruda_workbench import recipe_operations as edits
from ruda_workbench.context import Context
from ruda_workbench.document_watch import DocumentWatch
from ruda_workbench.item_models.change_table import ChangeTableModel
from ruda_workbench.key_words import keys_text
from ruda_workbench.panels.suggest_preview import SuggestPreviewWindow
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Size, Space
from ruda_workbench.widgets.buttons import Picker, icon_button, push_button
from ruda_workbench.widgets.data_table import DataTable
from ruda_workbench.widgets.labels import ElidedLabel, hairline, label
from ruda_workbench.widgets.rule_list import RuleList
from ruda_workbench.widgets.rule_row import RuleRow
from ruda_workbench.widgets.suggestion_list import SuggestionList

AT_ONCE = 5_000
"""Keys up to which the effect of the rules is worked out without a job."""
OPEN_HEIGHT = 272
RECIPES = later("Recipes (*.toml *.json)")
PATIENCE = 300
"""Milliseconds after which it is said that rules are being tried."""
COMMIT_AFTER = 900
"""Milliseconds without a key after which what was typed becomes an edit."""


Drafts = tuple[RuleDraft, ...]
Fields = tuple[Drafts, Drafts]
"""The rules of a recipe, and what stood in the fields that cannot be rules yet."""


class RulesCard(QFrame):
    """Edits the recipe's rules; what is typed shows its effect at once."""

    def __init__(self, context: Context, watch: DocumentWatch) -> None:
        super().__init__()
        self.setObjectName("rules")
        self.setProperty("surface", "card")
        self._context = context
        self._watch = watch
        self._question = Latest(context.jobs, self)
        self._suggestions: tuple[SuggestLine, ...] = ()
        self._commit_timer = QTimer(self)
        self._commit_timer.setSingleShot(True)
        self._commit_timer.setInterval(COMMIT_AFTER)
        self._commit_timer.timeout.connect(self.commit)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE)
        self._patience.timeout.connect(self._say_trying)
        self._page: RulesPage | None = None
        self._selection: DiffRow | None = None
        self._of: int | None = None
        self._drawn: Drafts = ()
        self._unfinished: dict[int, Fields] = {}
        self._build()
        watch.suggested.connect(self._suggested)
        self.set_open(on=False)

    # Building

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
        column.setSpacing(Space.S)
        column.addLayout(self._head())
        self.offers = SuggestionList()
        self.offers.preview_asked.connect(self._preview_suggestion)
        self.offers.taken.connect(self._suggestion_taken)
        column.addWidget(self.offers)
        self._body = QWidget()
        column.addWidget(self._body, 1)
        inner = QHBoxLayout(self._body)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(Space.L)
        self.list = RuleList()
        self.list.edited.connect(self._edited)
        self.list.finished.connect(self._finished)
        inner.addWidget(self.list, 1)
        inner.addWidget(hairline(vertical=True))
        inner.addWidget(self._preview(), 1)

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.toggle = icon_button("chevron-right", tr("Show or hide the rules"), "rules.toggle")
        self.toggle.clicked.connect(self._toggled)
        title = label(tr("Recipe"), font=text_font(bold=True))
        self._summary = ElidedLabel(ink="dim")
        self._summary.setObjectName("rules.summary")
        self._summary.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.layout_picker = Picker("rules.layout", tr("Layout"))
        self.layout_picker.setToolTip(tr("How the arrays of Linear layers and norms are laid out"))
        self.layout_picker.picked.connect(self._layout_picked)
        self.add = push_button(tr("Add rule"), "rules.add")
        self.presets = Picker("rules.presets", tr("Presets"))
        offers = preset_offers()
        self.presets.offer([(offer.name, offer.title) for offer in offers], "")
        self.presets.explain({offer.name: offer.note for offer in offers})
        self.presets.setText(tr("Presets"))
        self.presets.picked.connect(self._preset_picked)
        self.undo = icon_button("undo", f"{tr('Undo')}  {keys_text('Ctrl+Z')}", "rules.undo")
        self.redo = icon_button("redo", f"{tr('Redo')}  {keys_text('Ctrl+Shift+Z')}", "rules.redo")
        self.more = icon_button("more", tr("Files, reverse, schemas"), "rules.more")
        self.more.setMenu(self._more_menu())
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.add.clicked.connect(self.add_rule)
        self.undo.clicked.connect(self._undo)
        self.redo.clicked.connect(self._redo)
        row.addWidget(self.toggle)
        row.addWidget(title)
        row.addWidget(self._summary, 1)
        row.addWidget(label(tr("Layout"), role="dim"))
        for widget in (
            self.layout_picker,
            self.add,
            self.presets,
            self.undo,
            self.redo,
            self.more,
        ):
            row.addWidget(widget)
        return row

    def _more_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setObjectName("rules.menu")
        for name, text, what in (
            ("selection", tr("Rule from the selection"), self.add_from_selection),
            ("import", tr("Take a recipe from a file…"), self.ask_import),
            ("export", tr("Write the recipe to a file…"), self.ask_export),
            ("reverse", tr("Reverse the recipe"), self.reverse),
        ):
            entry = menu.addAction(text)
            entry.setObjectName(f"rules.menu.{name}")
            entry.triggered.connect(what)
        menu.addSeparator()
        self.schemas = menu.addAction(tr("Write rules as schemas"))
        self.schemas.setCheckable(True)
        self.schemas.toggled.connect(self._write_as_schemas)
        return menu

    def _preview(self) -> QWidget:
        self.changes = DataTable("rules.changes", tr("Keys before and after"))
        self.changes.set_row_height(Size.ROW_COMPACT)
        self.changes.empty_text = tr("Keys before and after stand here.")
        self._change_model = ChangeTableModel()
        self._change_model.setParent(self)
        self.changes.setModel(self._change_model)
        return self.changes

    # Showing

    @property
    def page(self) -> RulesPage | None:
        """The effect that is shown."""
        return self._page

    @property
    def rows(self) -> tuple[RuleRow, ...]:
        """The rules in order."""
        return self.list.rows

    @property
    def is_open(self) -> bool:
        """True while rules and preview are shown."""
        return not self._body.isHidden()

    def set_open(self, *, on: bool) -> None:
        """Show or hide rules and preview."""
        from ruda_workbench.icons import icon

        self._body.setVisible(on)
        self.toggle.setIcon(icon("chevron-down" if on else "chevron-right"))
        policy = QSizePolicy.Policy.Preferred if on else QSizePolicy.Policy.Maximum
        self.setSizePolicy(QSizePolicy.Policy.Preferred, policy)
        self.setMinimumHeight(OPEN_HEIGHT if on else 0)

    def refresh(self) -> None:
        """Draw the recipe of the document in front; what is being typed stays as it is."""
        document = self._watch.document
        if self._of != (None if document is None else document.id):
            self._leave_document()
        self.setEnabled(document is not None)
        if document is None:
            return
        offers = layout_offers(document.recipe, document.index)
        self.layout_picker.offer(offers, layout_of(document.recipe))
        history = self._context.session.history(document.id)
        self.undo.setEnabled(history.undo_title is not None)
        self.redo.setEnabled(history.redo_title is not None)
        undo = tr("Undo {title}", title=history.undo_title or "")
        redo = tr("Redo {title}", title=history.redo_title or "")
        self.undo.setToolTip(f"{undo}  {keys_text('Ctrl+Z')}")
        self.redo.setToolTip(f"{redo}  {keys_text('Ctrl+Shift+Z')}")
        drafts = drafts_of(document.recipe)
        if self._of != document.id:
            self._of = document.id
            drawn, fields = self._unfinished.pop(document.id, (drafts, drafts))
            self.list.show_drafts(fields if drawn == drafts else drafts)
        elif drafts not in (self._drawn, _meant(self.drafts)):
            self.list.show_drafts(merged(self._drawn, self.drafts, drafts))
        self._drawn = drafts
        self.preview()

    def _leave_document(self) -> None:
        """Make an edit of what was typed, or keep it until its document comes back."""
        left, drawn, drafts = self._open(self._of), self._drawn, self.drafts
        self._of, self._drawn = None, ()
        self._commit_timer.stop()
        open_ids = {each.id for each in self._context.session.documents}
        self._unfinished = {k: v for k, v in self._unfinished.items() if k in open_ids}
        if left is not None and not self._edit(left, drafts):
            self._unfinished[left.id] = (drawn, drafts)

    def _open(self, number: int | None) -> Document | None:
        documents = self._context.session.documents
        return next((each for each in documents if each.id == number), None)

    def show_suggestions(self, lines: tuple[SuggestLine, ...]) -> None:
        """Offer what would let more tensors load."""
        if lines == self._suggestions:
            return
        self._suggestions = lines
        self.offers.show_lines(lines)
        self.updateGeometry()

    def _suggested(self) -> None:
        self.show_suggestions(self._watch.suggestions)

    @property
    def suggestions(self) -> tuple[SuggestLine, ...]:
        """What is offered."""
        return self._suggestions

    @property
    def drafts(self) -> tuple[RuleDraft, ...]:
        """The rules as they stand in the fields."""
        return self.list.drafts

    # Live effect

    def preview(self) -> None:
        """Work out what the rules do as they stand in the fields."""
        table, laid = self._watch.table, self._watch.laid
        if table is None:
            return
        keys, drafts = table.keys, self.drafts
        wanted = None if laid is None else laid.wanted

        def work(monitor: Monitor) -> RulesPage:
            return rules_page(keys, drafts, wanted=wanted, monitor=monitor)

        if len(keys) <= AT_ONCE:
            self._question.drop()
            self._show_page(work(SILENT))
        else:
            self._question.ask(
                tr("Trying the rules"), work, self._show_page, cancelled=self._halted
            )
            self._patience.start()

    def _halted(self) -> None:
        """Somebody stopped it; the next key, or what comes of the document, tries them anew."""
        self._patience.stop()
        self._summary.set_ink("missing")
        self._summary.set_text(tr("Stopped"))

    def _say_trying(self) -> None:
        if self._question.is_waiting:
            self._summary.set_ink("dim")
            self._summary.set_text(tr("Trying the rules…"))

    def _show_page(self, page: RulesPage) -> None:
        self._patience.stop()
        self._page = page
        for row, line in zip(self.rows, page.rules, strict=False):
            row.show_line(line)
        clash = (
            tr("{collisions} collisions · ", collisions=page.collisions) if page.collisions else ""
        )
        self._summary.set_ink("error" if page.collisions else "dim")
        self._summary.set_text(f"{clash}{page.summary}")
        self._change_model.show_lines(page.changes)

    # Gestures

    def commit(self) -> None:
        """Make what stands in the fields the recipe, if it can be understood."""
        self._commit_timer.stop()
        document = self._open(self._of)
        if document is not None:
            self._edit(document, self.drafts)

    def _edit(self, document: Document, fields: Drafts) -> bool:
        """Give a document the rules that stood in the fields; False if they cannot be any."""
        drafts, before = _meant(fields), drafts_of(document.recipe)
        if drafts == before:
            return True
        return edits.change_rules(self._context, document, edit_title(before, drafts), drafts)

    def add_rule(self) -> None:
        """Add an empty rule and put the cursor into it."""
        self.set_open(on=True)
        self.list.add_empty()

    def add_draft(self, draft: RuleDraft) -> None:
        """Add a rule as one edit."""
        document = self._watch.document
        if document is not None:
            self.set_open(on=True)
            drafts = (*drafts_of(document.recipe), draft)
            edits.change_rules(
                self._context, document, tr("Rule {pattern}", pattern=draft.pattern), drafts
            )

    def _edited(self) -> None:
        self.preview()
        self._commit_timer.start()

    def _finished(self) -> None:
        self.commit()
        self.preview()

    def show_selection(self, rows: Sequence[DiffRow]) -> None:
        """Remember the rows of the load diff that a rule would be made from."""
        self._selection = rows[0] if rows else None

    def add_from_selection(self) -> None:
        """Add a rule that renames the chosen key and its family, towards the nearest name."""
        row, document = self._selection, self._watch.document
        if row is None or document is None:
            self._context.notify("info", tr("No row is chosen"), tr("Choose one of the load diff."))
            return
        near = row.nearest[0].key if row.nearest else ""
        if row.status is Status.MISSING:
            source, target = near, row.target_key or ""
        else:
            source, target = row.source_key or "", near
        if not source:
            text = tr("Nothing in the file has a name like {key}.", key=row.key)
            self._context.notify("info", tr("No rule was made"), text)
            return
        self.add_draft(rule_from_keys(source, target))

    def ask_import(self) -> None:
        """Ask for a recipe file and take it."""
        document = self._watch.document
        found, _ = QFileDialog.getOpenFileName(
            self, tr("Take a recipe from a file"), str(self._context.folder), tr(RECIPES)
        )
        if found and document is not None:
            recipe_files.import_recipe(self._context, document, Path(found))

    def ask_export(self) -> None:
        """Ask where the recipe goes and write it."""
        self.commit()
        document = self._watch.document
        if document is None:
            return
        place = self._context.folder / f"{document.path.stem}-recipe.toml"
        found, _ = QFileDialog.getSaveFileName(
            self, tr("Write the recipe to a file"), str(place), tr(RECIPES)
        )
        if found:
            recipe_files.export_recipe(self._context, document, Path(found))

    def reverse(self) -> None:
        """Put the recipe in its place that takes it back."""
        self.commit()
        document = self._watch.document
        if document is not None:
            recipe_files.reverse_recipe(self._context, document)

    def _write_as_schemas(self, on: bool) -> None:
        self.list.write_as_schemas(on)

    def _preset_picked(self, name: str) -> None:
        self.commit()
        document = self._watch.document
        if document is not None:
            self.set_open(on=True)
            refusal = edits.take_preset(self._context, document, name)
            if refusal:
                self._context.notify("info", tr("The preset changes nothing"), refusal)
        self.presets.show_value("", tr("Presets"))

    def _layout_picked(self, layout: str) -> None:
        document = self._watch.document
        if document is not None:
            edits.choose_layout(self._context, document, layout)

    def _suggestion_taken(self, line: SuggestLine) -> None:
        document = self._watch.document
        if document is not None:
            edits.take_suggestion(self._context, document, line)

    def _preview_suggestion(self, line: SuggestLine) -> None:
        laid = self._watch.current
        if laid is None or laid.target is None or laid.report is None:
            return
        window = SuggestPreviewWindow(line, self.window())
        document, target, report = laid.document, laid.target, laid.report

        def taken(step: SuggestLine) -> None:
            now = self._watch.document
            if now is not None and now.id == document.id:
                edits.take_suggestion(self._context, now, step)

        window.taken.connect(taken)
        self._watch.switched.connect(window.close)  # it is about this document only
        question = Latest(self._context.jobs, window)

        def work(monitor: Monitor) -> SuggestPreview:
            return suggest_preview(document, target, line, report, monitor=monitor)

        def failed(failure: JobFailure) -> None:
            window.show_problem(failure.summary)

        question.ask(tr("Trying a suggestion"), work, window.show_preview, failed)
        window.show()

    def _toggled(self) -> None:
        self.set_open(on=not self.is_open)

    def _undo(self) -> None:
        operations.undo(self._context)

    def _redo(self) -> None:
        operations.redo(self._context)


def _meant(drafts: Drafts) -> Drafts:
    """The drafts that somebody has written something into."""
    return tuple(draft for draft in drafts if draft.pattern or draft.replacement)


def merged(drawn: Drafts, fields: Drafts, now: Drafts) -> Drafts:
    """The rules that a recipe has now, with what stands in the fields and is none of it yet.

    ``drawn`` are those that the fields began with. Where both changed one rule, the recipe wins.
    """
    typed = _meant(fields)
    if len(typed) < len(drawn):
        return now
    made = [
        mine if at < len(drawn) and old == drawn[at] else old
        for at, (old, mine) in enumerate(zip(now, typed, strict=False))
    ]
    empty = sum(1 for _ in itertools.takewhile(lambda draft: not _meant((draft,)), fields[::-1]))
    return (*made, *now[len(made) :], *typed[len(drawn) :], *fields[len(fields) - empty :])
