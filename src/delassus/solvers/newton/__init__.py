"""Newton's method on Alart and Curnier's function, in a proximal point iteration."""
