"""What an owner lets be told of the people in its table (``[privacy]``): kept, counted person by person, and shown."""
