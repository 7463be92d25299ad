"""Workspaces: what stands in the middle of the window, one class per entry of the rail.

A workspace is a widget that is constructed with one ``Context`` (see ``workspace.py`` for all it
may offer) and listed in ``table.py``. The frame knows nothing else of it.
"""
