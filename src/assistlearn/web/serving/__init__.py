"""The prediction service at the initiator: ``assistlearn serve``."""
