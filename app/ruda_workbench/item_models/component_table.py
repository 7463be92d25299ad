"""Packages with version and licence as table rows."""

from __future__ import annotations

from ruda.session import later
from ruda_workbench.about import Component
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column


class ComponentTableModel(CellModel):
    """Draws components."""

    columns = (
        Column(later("Package"), 140, grows=200),
        Column(later("Version"), 80),
        Column(later("Licence"), 160),
    )

    def __init__(self, components: tuple[Component, ...]) -> None:
        super().__init__()
        self._components = components

    def row_total(self) -> int:
        """Number of packages."""
        return len(self._components)

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        found = self._components[row]
        text = (found.name, found.version, found.licence)[column]
        return Cell(text, mono=column == 1, ink="text" if column == 0 else "dim")
