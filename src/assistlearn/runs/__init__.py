"""The initiator's side of a run: create it, align samples, train, predict and forget."""
