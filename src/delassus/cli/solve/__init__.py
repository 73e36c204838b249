"""`delassus solve`: what is to be done (`command`), doing it (`runs`), and what is said of it (`report`)."""
