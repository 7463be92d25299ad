"""The gate to the compiled kernels and their NumPy twins."""
