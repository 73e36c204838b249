"""`delassus compile`: machine code before it is needed, from a list of kernels and types of arguments."""
