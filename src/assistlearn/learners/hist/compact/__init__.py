"""Bins of one byte, and a classification tree grown on them without XGBoost's memory.

XGBoost keeps 23 bytes for each sample of five columns, and 36 more while it grows a tree. Here a value is one byte.
Growing needs one or two more bytes for each sample, which say in which node it is. The sums of the weights by node,
class and bin are computed block by block, in float64.
"""
