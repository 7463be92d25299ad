"""Contract suites and strategies for formats, datasets and loaders."""
