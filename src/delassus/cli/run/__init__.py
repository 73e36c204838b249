"""`delassus run`: options (`command`), what they ask for (`plan`), the simulation (`steps`), the end (`report`)."""
