"""`python -m delassus` is the command line."""

from delassus.cli.main import run

run()
