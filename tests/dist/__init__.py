"""The package as it is shipped: its wheel and sdist, built, looked into, and tried where nothing else is."""
