"""The rail, from top to bottom."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from ruda.session import later

if TYPE_CHECKING:
    from ruda_workbench.context import Context
    from ruda_workbench.workspaces.workspace import Workspace


class WorkspaceEntry(NamedTuple):
    """One workspace: its name, what the rail shows, its keys, and where its class is."""

    name: str
    title: str
    icon: str
    keys: str
    module: str
    cls: str

    def build(self, context: Context, **given: object) -> Workspace:
        """A new workspace, given more where it takes more. Its module is imported now.

        Raises TypeError if its class is no workspace.
        """
        from ruda_workbench.workspaces.workspace import Workspace

        made = getattr(import_module(self.module), self.cls)(context, **given)
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
