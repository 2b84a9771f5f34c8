"""The steps of ``fit``: check data and settings, bind the loss, and train one booster."""
