"""What a person can do with a comparison: copy the command that gives the same answer."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from ruda.errors import RudaError
from ruda.session import command_text, compare_command, tr
from ruda_workbench.compare_watch import CompareWatch
from ruda_workbench.context import Context


def copy_command(context: Context, watch: CompareWatch) -> None:
    """Put the ``ruda compare`` line that gives the same answer on the clipboard."""
    left, right = watch.left, watch.right
    if left is None or right is None:
        return
    try:
        text = command_text(compare_command(left, right, watch.options))
    except RudaError as error:
        context.notify("warning", tr("The command was not copied"), str(error))
        return
    QGuiApplication.clipboard().setText(text)
    context.notify("done", tr("Command copied"), text)
