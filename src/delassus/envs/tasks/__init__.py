"""The tasks of the package, one file each."""
