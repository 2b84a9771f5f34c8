"""Training and prediction with XGBoost, which is imported when it is first needed."""
