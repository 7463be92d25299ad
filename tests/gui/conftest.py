"""What every test of a panel or dialog is given."""

from tests.window_fixtures import make_file, settled, storage, weights, window

__all__ = ["make_file", "settled", "storage", "weights", "window"]
