"""Bins of one byte, and a classification tree grown on them without XGBoost's memory.

XGBoost keeps 23 bytes for each sample of five columns, and 36 more while it grows a tree. Here a value is one byte, and
growing needs one or two bytes for each sample: where it is in the tree. The sums of the weights by node, class and bin
are taken block by block, in float64.
"""
