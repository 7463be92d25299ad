"""The formats that Ruda reads and writes, one file per format."""
