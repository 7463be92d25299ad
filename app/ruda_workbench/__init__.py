"""The desktop workbench on the ruda library."""
