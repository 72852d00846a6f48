"""Trees as XGBoost's JSON has them: all that speaks it is in here."""
