"""The interior-point method of papers 000 and 001, and a faster one built on it."""
