"""What recorded trials say: pure functions on a data frame."""
