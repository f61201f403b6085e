"""From a failing trial to the smallest program that shows it."""
