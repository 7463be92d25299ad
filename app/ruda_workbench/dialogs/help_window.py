"""Help: the guide in a window of its own, with a search through all pages."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, QUrl
from PySide6.QtGui import (
    QAction,
    QDesktopServices,
    QTextBlockFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextTable,
)
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from ruda.session import language_in_use, tr
from ruda_workbench.guide import GuidePage, Hit, guide_pages, search
from ruda_workbench.icons import icon
from ruda_workbench.style_sheet import page_style
from ruda_workbench.theme import colour, colours, text_font
from ruda_workbench.tokens import Space, Type
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.placing import room_for

LIST_WIDTH = 220
LINE = 125
"""Height of a line in per cent of the font's own."""


class HelpWindow(QDialog):
    """Shows one page of the guide; it stays open beside the window."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("help")
        self.setWindowTitle(tr("Guide"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(room_for(parent, 940, 720))
        self._pages = guide_pages(language_in_use())
        self._is_built = False
        row = QHBoxLayout(self)
        row.setContentsMargins(Space.L, Space.L, Space.L, Space.L)
        row.setSpacing(Space.L)
        row.addLayout(self._side())
        row.addWidget(self._reader(), 1)
        self._search("")
        self.list.setCurrentRow(0)
        self._is_built = True

    def _side(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(Space.S)
        column.addWidget(label(tr("Guide"), font=text_font(Type.TITLE, bold=True)))
        self.field = QLineEdit()
        self.field.setObjectName("help.search")
        self.field.setAccessibleName(tr("Search the guide"))
        self.field.setPlaceholderText(tr("Search the guide"))
        self.field.setClearButtonEnabled(True)
        for clear in self.field.findChildren(QToolButton):
            clear.setObjectName("help.clear")
            clear.setAccessibleName(tr("Empty the search"))
        for action in self.field.findChildren(QAction):
            action.setIcon(icon("close"))  # Qt's own is a grey disc
        self.field.textChanged.connect(self._search)
        self.field.returnPressed.connect(self._next_hit)
        self.list = QListWidget()
        self.list.setObjectName("help.pages")
        self.list.setAccessibleName(tr("Pages of the guide"))
        self.list.setWordWrap(True)
        self.list.setFixedWidth(LIST_WIDTH)
        self.list.currentItemChanged.connect(self._chosen)
        self.field.setFixedWidth(LIST_WIDTH)
        column.addWidget(self.field)
        column.addWidget(self.list, 1)
        return column

    def _reader(self) -> QTextBrowser:
        self.reader = QTextBrowser()
        self.reader.setObjectName("help.reader")
        self.reader.setAccessibleName(tr("Page of the guide"))
        self.reader.setOpenLinks(False)
        self.reader.setProperty("surface", "card")
        self.reader.anchorClicked.connect(self._link)
        self.reader.document().setDocumentMargin(Space.XL)
        return self.reader

    @property
    def page(self) -> GuidePage | None:
        """The page that is shown."""
        item = self.list.currentItem()
        found = None if item is None else item.data(Qt.ItemDataRole.UserRole)
        return found.page if isinstance(found, Hit) else None

    def show_page(self, name: str) -> None:
        """Show a page by its name."""
        self.field.clear()
        for place, page in enumerate(self._pages):
            if page.name == name:
                self.list.setCurrentRow(place)

    def changeEvent(self, event: QEvent) -> None:
        """Draw the page anew in other colours; it stays where it is."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.StyleChange and self._is_built:
            bar = self.reader.verticalScrollBar()
            place = bar.value()
            self._chosen()
            bar.setValue(place)

    def _search(self, text: str) -> None:
        before = self.page
        self.list.blockSignals(True)
        self.list.clear()
        for hit in search(self._pages, text):
            words = hit.page.title if not hit.excerpt else f"{hit.page.title}\n{hit.excerpt}"
            item = QListWidgetItem(words)
            item.setData(Qt.ItemDataRole.UserRole, hit)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, words)
            item.setSizeHint(QSize(LIST_WIDTH - Space.L, 34 if not hit.excerpt else 84))
            self.list.addItem(item)
        self.list.blockSignals(False)
        kept = [i for i in range(self.list.count()) if self._hit(i).page is before]
        row = kept[0] if kept and not text else 0
        self.list.setCurrentRow(row)
        self._chosen()

    def _hit(self, row: int) -> Hit:
        found: Hit = self.list.item(row).data(Qt.ItemDataRole.UserRole)
        return found

    def _chosen(self, *_: object) -> None:
        page = self.page
        if page is None:
            self.reader.setPlainText(tr("No page of the guide has these words."))
            return
        self.reader.document().setDefaultStyleSheet(page_style(colours()))
        self.reader.setMarkdown(page.text)
        _set_apart(self.reader.document())
        _rule_tables(self.reader.document())
        self.reader.moveCursor(QTextCursor.MoveOperation.Start)
        words = self.field.text().split()
        if words:
            self.reader.find(words[0])

    def _next_hit(self) -> None:
        words = self.field.text().split()
        if words and not self.reader.find(words[0]):
            self.reader.moveCursor(QTextCursor.MoveOperation.Start)
            self.reader.find(words[0], QTextDocument.FindFlag(0))

    def _link(self, url: QUrl) -> None:
        name = url.toString().removesuffix(".md")
        if url.isRelative() and any(page.name == name for page in self._pages):
            self.show_page(name)
        elif url.scheme() in ("http", "https"):
            QDesktopServices.openUrl(url)


def _set_apart(document: QTextDocument) -> None:
    """Give the paragraphs of a page air, which Markdown does not say."""
    block = document.begin()
    while block.isValid():
        cursor = QTextCursor(block)
        form = block.blockFormat()
        in_table = cursor.currentTable() is not None
        form.setBottomMargin(Space.XS if in_table else Space.S)
        form.setTopMargin(Space.XS if in_table else Space.S)
        form.setLineHeight(LINE, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        cursor.setBlockFormat(form)
        block = block.next()


def _rule_tables(document: QTextDocument) -> None:
    """Draw tables with hairlines, as everywhere else; Markdown's are ruled in the text's ink."""
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            form = frame.format()
            form.setBorderBrush(colour("hairline"))
            form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
            form.setBorderCollapse(True)
            form.setBorder(1)
            form.setCellPadding(Space.XS)
            frame.setFormat(form)
