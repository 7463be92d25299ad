"""What tensors compute, on arrays, in rooms by kind: promotion and shapes are checked here.

NumPy does the work. Results follow IEEE arithmetic: an overflow is Inf and an invalid operation
NaN, without warnings. Integers wrap around. Halves are added up, multiplied as matrices and
exponentiated in f32 and rounded once at the end.
"""
