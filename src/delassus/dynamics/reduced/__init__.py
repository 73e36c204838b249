"""Joint coordinates: the joints of a spanning forest (model/tree.py) eliminated from a step."""
