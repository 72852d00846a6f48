"""How often a pilot says yes where there is nothing to gain, and how soon it answers where there is."""
