"""Training and prediction with LightGBM, which is imported when it is first needed."""
