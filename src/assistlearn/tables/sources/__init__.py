"""Where a table's columns come from, one file for each kind of place. Only the columns asked for are read.

Polars reads the files (``bench/tables.md`` has the measurement that chose it); databases answer queries.
"""
