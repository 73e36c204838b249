"""Methods that guess which constraints are active and solve on their faces."""
