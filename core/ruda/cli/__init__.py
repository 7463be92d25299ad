"""The command line: ``ruda inspect | diff | convert | run | models | formats | app``."""

from ruda.cli.program import main

__all__ = ["main"]
