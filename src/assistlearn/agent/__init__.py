"""An organisation: its file, its table and models, what it answers, consent, limits, releases."""
