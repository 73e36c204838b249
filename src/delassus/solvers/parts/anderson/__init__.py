"""Anderson acceleration as compiled steps on any fixed-point map."""
