"""Who takes part in a network, the kits that its members get, and what a kit allows."""
