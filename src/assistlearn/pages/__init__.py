"""A run as one page to look at, from its events and its folder. Nothing here takes part in a run."""
