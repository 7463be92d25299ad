"""Item models over frozen pages: virtual, under 250 lines each, never behind a proxy."""
