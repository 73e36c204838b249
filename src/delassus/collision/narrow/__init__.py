"""Where two shapes touch: one file per shape, hulls and meshes by GJK."""
