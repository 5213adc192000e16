"""Models that anybody can fit in a second, to hold a loss against."""
