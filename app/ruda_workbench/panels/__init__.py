"""Panels: each draws one page and turns gestures into operations."""
