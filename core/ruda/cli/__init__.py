"""The ruda command."""
