"""Programs that `foreign/child.py` runs in a process of their own: foreign compilers, nothing of ours."""
