"""`delassus bench` and `delassus report`."""
