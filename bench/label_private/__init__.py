"""What the label-private method is worth: against epsilon, with its control, the initiator alone and all pooled."""
