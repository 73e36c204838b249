"""Linear algebra that knows nothing of contacts: Delassus operators in three storages, and their spectra."""
