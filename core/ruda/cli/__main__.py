"""``python -m ruda.cli`` is the command ``ruda``."""

import sys

from ruda.cli import main

if __name__ == "__main__":
    sys.exit(main())
