"""The owner's privacy rules (``[privacy]``): what may be told about each person is checked, counted and shown."""
