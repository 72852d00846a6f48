"""Trees in XGBoost's JSON: all code that reads or writes this format, and the versions of it that are known."""
