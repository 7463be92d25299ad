"""Ruda: model weights and data pipelines, exact, lazy and without executing a file.

Enter by the rooms: ``ruda.tensor``, ``ruda.nn``, ``ruda.data``, ``ruda.store``, ``ruda.models``,
``ruda.record``. Importing this package alone imports none of them.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
