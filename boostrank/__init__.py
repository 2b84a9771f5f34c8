"""boostrank."""
