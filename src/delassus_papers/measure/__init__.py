"""What several experiments need: their heaps and piles, runs counted as the papers count, spectra, pictures."""
