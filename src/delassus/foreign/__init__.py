"""Files of strangers: which of them may be read, and their parsers, which run in a process of their own with limits."""
