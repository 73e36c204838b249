"""Linear algebra: storages of the Delassus operator, factorisations, iterative methods, small dense kernels."""
