"""Datasets, transforms, batchers and loaders."""
