"""The values that other libraries print for a measure, and the conventions that explain the differences."""
