"""The registry of architectures that weights can be loaded into and run."""
