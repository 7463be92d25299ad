"""Settings put to work: at the start of the program, and when one is changed in the window."""

from __future__ import annotations

from ruda.session import Settings, tr
from ruda.store import available_formats
from ruda.tensor import set_thread_count
from ruda_workbench.context import Context

_used = [Settings().header_limit]
"""The limit that the readers have now."""
_threads = [0]
"""The number of threads that was asked for; 0 for none."""


def use_limits(settings: Settings) -> None:
    """Give the readers and the kernels their limits; what is the default costs nothing at start."""
    if settings.compute_threads or _threads[0]:
        _threads[0] = settings.compute_threads
        set_thread_count(settings.compute_threads or None)
    if settings.header_limit == _used[0]:
        return
    _used[0] = settings.header_limit
    for each in available_formats():
        if hasattr(each, "header_limit"):
            each.header_limit = settings.header_limit << 20


def change(context: Context, key: str, value: object) -> None:
    """Give a setting another value, keep it, and let it take effect where it can at once."""
    if getattr(context.storage.settings, key) == value:
        return
    context.storage.change(**{key: value})
    settings = context.storage.settings
    if key == "theme":
        context.theme.choose(settings.theme)
    elif key == "contrast":
        context.theme.choose_contrast(settings.contrast)
    elif key == "reduced_motion":
        context.theme.choose_motion(settings.reduced_motion)
    elif key in ("header_limit", "compute_threads"):
        use_limits(settings)
    elif key == "language":
        context.language_wanted.emit()
    elif key == "read_threads":
        context.notify("info", tr("The number of threads changes with the next start"))
    context.settings_changed.emit()
