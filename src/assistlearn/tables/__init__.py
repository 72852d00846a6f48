"""A table is read, the kinds of its columns are told, and it is prepared for a learner."""
