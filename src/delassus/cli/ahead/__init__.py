"""Machine code before it is needed, from a list of kernels and types of arguments: compiled in several processes."""
