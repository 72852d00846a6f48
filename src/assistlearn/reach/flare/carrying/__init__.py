"""How a message of the initiator gets to another site and back."""
