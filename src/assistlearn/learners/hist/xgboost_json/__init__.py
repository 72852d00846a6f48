"""Trees as XGBoost's JSON has them: all that speaks it is in here, and which versions of it are known."""
