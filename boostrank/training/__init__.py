"""The steps of ``fit``: check the data and the settings, bind the loss to the data, and train one
booster.
"""
