"""What an initiator can rebuild of a helper's private columns, by attacks within one run and by one ordinary run.

    python -m bench.reconstruction [--seeds 3] [--turns 100] [--tables made] [--learners stump] [--json]

A real service answers for the helper. A hostile initiator chooses labels, initial weights, hold-out samples and
news as it likes, and asks for as many turns as it may. From everything it got it estimates a column
(:mod:`bench.reconstruction.estimates`). What counts is the rank correlation of the best estimate with the private
column that it comes closest to. The same estimates are made from one ordinary run with the true labels, of as many
rounds. An attack is stopped where it is refused, or comes no closer than the ordinary run and a margin.
"""
