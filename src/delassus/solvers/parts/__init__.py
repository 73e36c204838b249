"""What families of solvers share: the only place they may import from besides their own."""
