"""The exact tier: every result is the double nearest to the true value of the whole formula."""
