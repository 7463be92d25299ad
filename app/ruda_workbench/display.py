"""Whether a window can be shown here: asked before Qt is, because Qt ends the process where not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

INSTEAD = "use --screenshot FILE to get a picture of the window, or the command ruda instead"


def no_display() -> str | None:
    """Why no window can be shown, in one sentence; None where one can, or where Qt will tell."""
    if sys.platform in ("win32", "darwin") or os.environ.get("QT_QPA_PLATFORM", "xcb") != "xcb":
        return None
    if os.environ.get("WAYLAND_DISPLAY"):
        return None
    if not os.environ.get("DISPLAY"):
        return f"there is no display (DISPLAY and WAYLAND_DISPLAY are not set); {INSTEAD}"
    missing = _missing_library()
    if missing:
        return (
            f"the window system's libraries are not complete ({missing}); install libxcb-cursor0 "
            f"libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libxkbcommon-x11-0, or {INSTEAD}"
        )
    if not _answers():
        return f"the display {os.environ['DISPLAY']} does not answer; {INSTEAD}"
    return None


def _missing_library() -> str:
    """What the loader says of Qt's X11 plugin; empty if it can be loaded or is not found."""
    import ctypes
    import importlib.util

    found = importlib.util.find_spec("PySide6")
    if found is None or not found.submodule_search_locations:
        return ""
    plugin = Path(found.submodule_search_locations[0]) / "Qt/plugins/platforms/libqxcb.so"
    if not plugin.exists():
        return ""
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        return str(error)
    return ""


def _answers() -> bool:
    """True if the X server takes a connection, or where that cannot be asked."""
    import ctypes

    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    if not connection:
        return False
    works = xcb.xcb_connection_has_error(connection) == 0
    xcb.xcb_disconnect(connection)
    return bool(works)
