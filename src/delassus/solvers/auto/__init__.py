"""The default: which methods are tried on a problem, and which of many reactions is returned."""
