"""A run from the side of the initiator: folder, alignment, training, prediction, going on, pilots, labels."""
