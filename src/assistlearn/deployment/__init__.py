"""The session over real separate agents: one process each on this machine."""
