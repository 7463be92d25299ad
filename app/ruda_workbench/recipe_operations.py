"""Edits of the recipe of a document, each one step that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ruda.errors import RudaError
from ruda.progress import SILENT, Monitor
from ruda.session import (
    SEVERAL,
    Document,
    ModelCoverage,
    ModelFit,
    RuleDraft,
    SuggestLine,
    cast_policy,
    counted,
    later,
    layout_of,
    layout_title,
    listed,
    preset_offers,
    rules_of,
    say,
    tr,
)
from ruda.store import Decision, Hint, Recipe
from ruda_workbench.context import Context

CASTS: tuple[tuple[str, str], ...] = (
    ("", later("Keep types")),
    ("f16", "f16"),
    ("bf16", "bf16"),
    ("f32", "f32"),
)

AT_ONCE = 20_000
"""Tensors up to which decisions on them are made without a job."""
Edit = tuple[str, Recipe]
"""The title of an edit, and the recipe that it makes."""


def choose_layout(context: Context, document: Document, layout: str) -> None:
    """Adapt with this adapter, or with none."""
    if layout in (layout_of(document.recipe), SEVERAL):
        return
    recipe = document.recipe.with_adapt(*([layout] if layout else []))
    context.session.edit(document.id, tr("Layout {name}", name=layout_title(layout)), recipe)


def change_rules(
    context: Context, document: Document, title: str, drafts: Sequence[RuleDraft]
) -> bool:
    """Give the recipe these rules; False while one of them cannot be understood."""
    try:
        rules = rules_of(drafts)
    except RudaError:
        return False
    if rules != document.recipe.remap.rules:
        context.session.edit(document.id, title, document.recipe.with_rules(rules))
    return True


def take_hint(context: Context, document: Document, hint: Hint) -> None:
    """Do what a hint offers."""
    rule = hint.rule
    if hint.kind == "cast":
        choose_cast(context, document, hint.value, every=True, keep=())
        return
    if rule is None:
        choose_layout(context, document, hint.value)
        return
    recipe = document.recipe.with_rule(*rule)
    context.session.edit(document.id, tr("Rule {pattern}", pattern=rule[0]), recipe)


def take_suggestion(context: Context, document: Document, line: SuggestLine) -> None:
    """Add the step of a suggestion to the recipe."""
    context.session.edit(document.id, line.title, line.step.on(document.recipe))


def take_preset(context: Context, document: Document, name: str) -> str:
    """Add the steps of a preset as one edit; the sentence of a refusal, or nothing."""
    offer = next(each for each in preset_offers() if each.name == name)
    try:
        recipe = offer.preset.on(document.recipe)
    except RudaError as error:
        return say(str(error))
    if recipe == document.recipe:
        return tr("The recipe has these steps already.")
    context.session.edit(document.id, offer.title, recipe)
    return ""


def take_fit(context: Context, document: Document, fit: ModelFit) -> None:
    """Lay a document onto a model that it is complete for, and tell what that took.

    The steps are an edit of their own, so undoing them shows the file on the model as it is.
    """
    if document.target != fit.choice:
        context.session.retarget(document.id, fit.choice)
    if fit.recipe != document.recipe:
        _take_steps(context, document.id, fit.choice.name, fit.steps, fit.recipe)
    if fit.doubts:
        context.notify(
            "warning",
            tr("Results of {name} depend on more", name=fit.choice.name),
            "\n".join(fit.doubts),
        )


def offer_steps(context: Context, document: Document, covered: ModelCoverage) -> None:
    """Say how much of a model a document would have with steps that nobody has taken."""
    recipe = covered.recipe
    if recipe is None:
        return

    def take() -> None:
        now = _open_document(context, document.id)
        why = ""
        if now is None:
            why = tr("{name} was closed. Open it and choose the target anew.", name=document.name)
        elif now.recipe != document.recipe:
            why = tr("Its recipe has been edited since. Choose the target anew.")
        if now is None or why:
            context.notify("info", tr("The steps were not taken"), why)
            return
        context.session.activate(now.id)
        _take_steps(context, now.id, covered.name, covered.steps, recipe)

    title = tr("{name} finds more with steps in the recipe", name=covered.name)
    context.notify("info", title, covered.help, (tr("Take these steps"), take))


def _take_steps(
    context: Context, document_id: int, name: str, steps: Sequence[str], recipe: Recipe
) -> None:
    title = tr("Steps for {name}: {steps}", name=name, steps=listed(steps))
    made = context.session.edit(document_id, title, recipe)

    def take_back() -> None:
        why = _why_not_back(context, made, title)
        if why:
            context.notify("info", tr("The steps were not undone"), why)
            return
        context.session.activate(made.id)
        context.session.undo(made.id)

    text = tr("Added to the recipe so that {name} finds its tensors.", name=name)
    context.notify("info", title, text, (tr("Undo"), take_back))


def _why_not_back(context: Context, made: Document, title: str) -> str:
    """Why the edit that made a document is not the one that undo takes back; nothing if it is."""
    if _open_document(context, made.id) is None:
        return tr("{name} was closed.", name=made.name)
    history = context.session.history(made.id)
    # By the recipe: a file that was opened anew has other documents in its history.
    places = [
        place
        for place, step in enumerate(history.steps)
        if step.title == title and step.document.recipe is made.recipe
    ]
    if not places or places[0] > history.position:
        return tr("They are undone already.")
    if places[0] < history.position:
        last = history.undo_title or ""
        return tr(
            "Other edits came after them, the last is “{title}”. Undo them first.", title=last
        )
    return ""


def _open_document(context: Context, document_id: int) -> Document | None:
    """A document as it stands; None once it is closed."""
    return next((each for each in context.session.documents if each.id == document_id), None)


def take_suggestions(context: Context, document: Document, lines: Sequence[SuggestLine]) -> None:
    """Add the steps of several suggestions to the recipe, as one edit."""
    if len(lines) == 1:
        take_suggestion(context, document, lines[0])
        return
    recipe = document.recipe
    for line in lines:
        recipe = line.step.on(recipe)
    context.session.edit(document.id, tr("{count} suggestions", count=len(lines)), recipe)


def skip(
    context: Context, document: Document, keys: Sequence[str], *, on: bool | None = None
) -> None:
    """Leave tensors out, or take that decision back; with None, whichever is not so yet."""
    recipe = document.recipe

    def work(monitor: Monitor) -> Edit:
        named = [key for key in keys if key]
        monitor.check()
        skipped = recipe.skipped_keys
        leave = not all(key in skipped for key in named) if on is None else on
        made = recipe.with_skip(*named) if leave else recipe.without_decision(*named)
        return f"{tr('Leave out') if leave else tr('Take in')} {named[0]}", made

    if any(keys):
        _edit(context, document, len(keys), work)


def decide(
    context: Context,
    document: Document,
    title: str,
    count: int,
    decisions: Callable[[Monitor], Sequence[Decision]],
) -> None:
    """Decide on tensors, as one step; other decisions about them are replaced.

    ``count`` is their number: the decisions on very many are made in a job.
    """

    def work(monitor: Monitor) -> Edit:
        return title, document.recipe.with_decision(*decisions(monitor))

    _edit(context, document, count, work)


def _edit(
    context: Context, document: Document, count: int, work: Callable[[Monitor], Edit]
) -> None:
    """Do one edit, of very many tensors in a job; it comes too late for another recipe."""

    def done(made: Edit) -> None:
        title, recipe = made
        now = _open_document(context, document.id)
        if now is not None and now.recipe is document.recipe:
            context.session.edit(document.id, title, recipe)

    if count <= AT_ONCE:
        done(work(SILENT))
    else:
        title = tr("Deciding on {count}", count=counted(count, "tensor"))
        context.jobs.start(title, work, owner=context, done=done)


def choose_cast(
    context: Context,
    document: Document,
    to: str,
    *,
    every: bool,
    keep: Sequence[str],
    add: Sequence[str] = (),
) -> str:
    """Give the recipe a cast, or none; the sentence of a refusal, or nothing."""
    try:
        cast = cast_policy(to, every=every, keep=keep, add=add)
    except RudaError as error:
        return say(str(error))
    if cast != document.recipe.cast:
        title = tr("Cast to {to}", to=to) if to else tr("Keep types")
        context.session.edit(document.id, title, document.recipe.with_cast(cast))
    return ""
