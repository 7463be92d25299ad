"""The rail, from top to bottom."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from ruda.session import later
from ruda_workbench.context import Context
from ruda_workbench.workspaces.workspace import Workspace


@dataclass(frozen=True, slots=True)
class WorkspaceEntry:
    """One workspace: its name, what the rail shows, its keys, and where its class is."""

    name: str
    title: str
    icon: str
    keys: str
    module: str
    cls: str

    def build(self, context: Context) -> Workspace:
        """A new workspace."""
        made = getattr(import_module(self.module), self.cls)(context)
        if not isinstance(made, Workspace):
            raise TypeError(f"{self.module}.{self.cls} is not a Workspace")
        made.setObjectName(f"workspace.{self.name}")
        return made


_ROOM = "ruda_workbench.workspaces"

WORKSPACES = (
    WorkspaceEntry(
        "weights", later("Weights"), "weights", "Ctrl+1", f"{_ROOM}.weights", "WeightsWorkspace"
    ),
    WorkspaceEntry(
        "compare", later("Compare"), "compare", "Ctrl+2", f"{_ROOM}.compare", "CompareWorkspace"
    ),
    WorkspaceEntry("data", later("Data"), "data", "Ctrl+3", f"{_ROOM}.data", "DataWorkspace"),
    WorkspaceEntry("run", later("Run"), "run", "Ctrl+4", f"{_ROOM}.run", "RunWorkspace"),
)
