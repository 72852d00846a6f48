"""A run, or a helper's part in all its runs, as a page that opens offline, and as pictures."""
