"""What Weights can do, as actions: of its views, the recipe, chosen rows, the conversion, a tensor.

Those of a card do what a button or a menu of it does, and show the view where that is to be seen.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from ruda.session import later, refused_page
from ruda_workbench.action_book import UserAction
from ruda_workbench.widgets.rule_row import MOVE_KEYS

if TYPE_CHECKING:
    from ruda.session import RefusedPage
    from ruda_workbench.context import Context
    from ruda_workbench.document_watch import DocumentWatch
    from ruda_workbench.panels.convert import ConvertPanel
    from ruda_workbench.panels.inspector import InspectorPanel
    from ruda_workbench.panels.load_diff import LoadDiffPanel


class Cards(Protocol):
    """The workspace of weights, as far as its actions need it; it is ``WeightsWorkspace``."""

    context: Context
    watch: DocumentWatch
    diff: LoadDiffPanel
    convert: ConvertPanel

    @property
    def can_save(self) -> bool:
        """True once it is known what would be saved."""

    def is_shown(self, view: str) -> bool:
        """True while this view is in front."""

    def inspector(self) -> InspectorPanel:
        """Facts and values of the chosen tensor."""

    def show_view(self, name: str) -> None:
        """Show the tensors, the load diff or the conversion."""

    def show_refused(self, page: RefusedPage) -> None:
        """Show what a file asked for and did not get."""

    def ask_export(self) -> None:
        """Ask where the report of the load diff goes and write it."""

    def ask_save(self) -> None:
        """Open the save sheet."""


def _has_document(workspace: Cards) -> bool:
    return workspace.context.session.active is not None


def _has_target(workspace: Cards) -> bool:
    document = workspace.context.session.active
    return document is not None and document.target is not None


def _has_steps(workspace: Cards) -> bool:
    document = workspace.context.session.active
    return document is not None and not document.recipe.is_identity


def _has_row(workspace: Cards) -> bool:
    is_shown = workspace.is_shown("diff") and _has_target(workspace)
    return is_shown and workspace.diff.table.currentIndex().isValid()


def _has_suggestion(workspace: Cards) -> bool:
    return _has_target(workspace) and workspace.diff.can_suggest


def _can_check(workspace: Cards) -> bool:
    laid = workspace.watch.current
    return laid is not None and laid.view is not None and laid.document.recipe.casts


def _can_fix(workspace: Cards) -> bool:
    is_shown = workspace.is_shown("convert") and _can_check(workspace)
    return is_shown and workspace.convert.table.currentIndex().isValid()


def _has_tensor(workspace: Cards) -> bool:
    return bool(workspace.inspector().shown_key)


def _can_save(workspace: Cards) -> bool:
    return workspace.can_save


def _tensors(workspace: Cards) -> None:
    workspace.show_view("tensors")


def _diff(workspace: Cards) -> None:
    workspace.show_view("diff")


def _convert(workspace: Cards) -> None:
    workspace.show_view("convert")


def _save(workspace: Cards) -> None:
    workspace.ask_save()


def _export_report(workspace: Cards) -> None:
    workspace.ask_export()


def _has_report(workspace: Cards) -> bool:
    laid = workspace.watch.laid
    return laid is not None and laid.report is not None


def _has_refused(workspace: Cards) -> bool:
    document = workspace.context.session.active
    return document is not None and bool(document.index.unsafe)


def _refused(workspace: Cards) -> None:
    document = workspace.context.session.active
    if document is not None:
        workspace.show_refused(refused_page(document))


def _add_rule(workspace: Cards) -> None:
    workspace.show_view("diff")
    workspace.diff.rules.add_rule()


def _import(workspace: Cards) -> None:
    workspace.diff.rules.ask_import()


def _export(workspace: Cards) -> None:
    workspace.diff.rules.ask_export()


def _reverse(workspace: Cards) -> None:
    workspace.diff.rules.reverse()


def _presets(workspace: Cards) -> None:
    workspace.show_view("diff")
    workspace.diff.rules.presets.showMenu()


def _schemas(workspace: Cards) -> None:
    workspace.show_view("diff")
    workspace.diff.rules.set_open(on=True)
    workspace.diff.rules.schemas.toggle()


def _from_selection(workspace: Cards) -> None:
    workspace.diff.rules.add_from_selection()


def _move_rule(by: int, workspace: Cards) -> None:
    workspace.diff.rules.list.move_focused(by)


def _suggestions(workspace: Cards) -> None:
    workspace.show_view("diff")
    workspace.diff.take_suggestions()


def _skip(workspace: Cards) -> None:
    workspace.diff.toggle_skip()


def _decide(workspace: Cards) -> None:
    workspace.diff.ask_decision()


def _check(workspace: Cards) -> None:
    workspace.show_view("convert")
    workspace.convert.scan.click()


def _estimate(workspace: Cards) -> None:
    workspace.show_view("convert")
    workspace.convert.estimate.click()


def _fix(name: str, workspace: Cards) -> None:
    workspace.convert.fixes[name].click()


def _pin(workspace: Cards) -> None:
    workspace.inspector().pin.click()


def _copy_numpy(workspace: Cards) -> None:
    workspace.inspector().copy_numpy()


def _copy_python(workspace: Cards) -> None:
    workspace.inspector().copy_python()


def _copy_picture(workspace: Cards) -> None:
    workspace.inspector().copy_picture()


_WORKSPACE_ACTIONS: tuple[UserAction[Cards], ...] = (
    UserAction(
        "weights.tensors",
        later("Show the tensors"),
        _tensors,
        later("Weights"),
        icon="weights",
        keys="Alt+1",
        available=_has_document,
    ),
    UserAction(
        "weights.diff",
        later("Show the load diff"),
        _diff,
        later("Weights"),
        icon="tune",
        keys="Alt+2",
        available=_has_document,
        words=later("compare target model architecture"),
    ),
    UserAction(
        "weights.convert",
        later("Show the conversion"),
        _convert,
        later("Weights"),
        icon="shrink",
        keys="Alt+3",
        available=_has_document,
        words=later("half f16 bf16 cast"),
    ),
    UserAction(
        "weights.save",
        later("Save converted…"),
        _save,
        later("Weights"),
        icon="save",
        keys="Ctrl+S",
        available=_can_save,
        words=later("export write"),
    ),
    UserAction(
        "weights.export",
        later("Export the load diff…"),
        _export_report,
        later("Weights"),
        icon="export",
        keys="Ctrl+Shift+E",
        available=_has_report,
        words=later("report html csv json markdown"),
    ),
    UserAction(
        "weights.refused",
        later("Show what the file asked for and did not get"),
        _refused,
        later("Weights"),
        icon="warning",
        available=_has_refused,
        words=later("unsafe pickle code"),
    ),
    UserAction(
        "weights.add-rule",
        later("Add a remap rule"),
        _add_rule,
        later("Weights"),
        icon="plus",
        keys="Ctrl+Shift+R",
        available=_has_target,
        words=later("rename regex"),
    ),
)

_RECIPE = later("Recipe")
_ROWS = later("Load diff")
_CONVERT = later("Convert")
_TENSOR = later("Tensor")

_CARD_ACTIONS: tuple[UserAction[Cards], ...] = (
    UserAction(
        "recipe.import",
        later("Take a recipe from a file…"),
        _import,
        _RECIPE,
        icon="open",
        available=_has_document,
    ),
    UserAction(
        "recipe.export",
        later("Write the recipe to a file…"),
        _export,
        _RECIPE,
        icon="export",
        available=_has_document,
    ),
    UserAction(
        "recipe.reverse",
        later("Reverse the recipe"),
        _reverse,
        _RECIPE,
        icon="swap",
        available=_has_steps,
    ),
    UserAction(
        "recipe.presets",
        later("Add steps that are ready-made…"),
        _presets,
        _RECIPE,
        icon="tune",
        available=_has_target,
        words=later("preset strip module compile"),
    ),
    UserAction(
        "recipe.selection",
        later("Rule from the selection"),
        _from_selection,
        _RECIPE,
        icon="plus",
        available=_has_row,
        words=later("rename"),
    ),
    UserAction(
        "recipe.schemas",
        later("Write rules as schemas, or as regexes"),
        _schemas,
        _RECIPE,
        icon="terminal",
        available=_has_target,
    ),
    UserAction(
        "recipe.earlier",
        later("Move the rule earlier"),
        partial(_move_rule, -1),
        _RECIPE,
        icon="up",
        keys=MOVE_KEYS[0],
        available=_has_target,
    ),
    UserAction(
        "recipe.later",
        later("Move the rule later"),
        partial(_move_rule, 1),
        _RECIPE,
        icon="down",
        keys=MOVE_KEYS[1],
        available=_has_target,
    ),
    UserAction(
        "rows.suggestions",
        later("Take what is suggested"),
        _suggestions,
        _ROWS,
        icon="check",
        available=_has_suggestion,
        words=later("hint certain"),
    ),
    UserAction(
        "rows.skip",
        later("Leave the chosen row out, or take it in again"),
        _skip,
        _ROWS,
        icon="minus",
        available=_has_row,
        words=later("skip"),
    ),
    UserAction(
        "rows.decide",
        later("Decide on the chosen row…"),
        _decide,
        _ROWS,
        icon="tune",
        available=_has_row,
        words=later("cut pad take slice transpose"),
    ),
    UserAction(
        "convert.check",
        later("Check every value that is cast"),
        _check,
        _CONVERT,
        icon="check",
        available=_can_check,
        words=later("overflow scan"),
    ),
    UserAction(
        "convert.estimate",
        later("Estimate what the cast loses"),
        _estimate,
        _CONVERT,
        icon="timer",
        available=_can_check,
        words=later("overflow sample"),
    ),
    UserAction(
        "convert.keep",
        later("Keep the type of the chosen line"),
        partial(_fix, "keep"),
        _CONVERT,
        icon="minus",
        available=_can_fix,
    ),
    UserAction(
        "convert.bf16",
        later("Save the chosen line as bf16"),
        partial(_fix, "bf16"),
        _CONVERT,
        icon="shrink",
        available=_can_fix,
    ),
    UserAction(
        "convert.clamp",
        later("Clamp the chosen line"),
        partial(_fix, "clamp"),
        _CONVERT,
        icon="contrast",
        available=_can_fix,
    ),
    UserAction(
        "convert.as-others",
        later("Cast the chosen line as the others"),
        partial(_fix, "none"),
        _CONVERT,
        icon="undo",
        available=_can_fix,
    ),
    UserAction(
        "tensor.pin",
        later("Pin the tensor, to lay others beside it"),
        _pin,
        _TENSOR,
        icon="pin",
        available=_has_tensor,
        words=later("compare difference"),
    ),
    UserAction(
        "tensor.copy-numpy",
        later("Copy the values as NumPy"),
        _copy_numpy,
        _TENSOR,
        icon="copy",
        available=_has_tensor,
    ),
    UserAction(
        "tensor.copy-python",
        later("Copy Python that reads it"),
        _copy_python,
        _TENSOR,
        icon="copy",
        available=_has_tensor,
    ),
    UserAction(
        "tensor.copy-picture",
        later("Copy the heat map as a picture"),
        _copy_picture,
        _TENSOR,
        icon="copy",
        available=_has_tensor,
    ),
)

WEIGHTS_ACTIONS = (*_WORKSPACE_ACTIONS, *_CARD_ACTIONS)
"""All of them, in the order of the menus."""
