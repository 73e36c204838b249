"""Bodies that move far within a step: which pairs of shapes meet on the way, and when."""

from delassus.collision.sweep.follow import (
    APART,
    GRAZE,
    HIT,
    MISS,
    OVERLAP,
    TOUCH,
    Sweep,
    follow,
    kept_apart,
    pair_keys,
    sweep,
)

__all__ = ["APART", "GRAZE", "HIT", "MISS", "OVERLAP", "TOUCH", "Sweep", "follow", "kept_apart", "pair_keys", "sweep"]
