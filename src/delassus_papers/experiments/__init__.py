"""One file per experiment, each with its `EXPERIMENT`; the table is in `delassus_papers`."""
