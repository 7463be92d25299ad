"""The desktop workbench on the ruda library."""

GARBAGE_THRESHOLDS = (50_000, 20, 500)
"""New objects until Python looks for cycles among the young; and how seldom among all."""
