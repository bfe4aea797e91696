"""Training: section 5 of the paper."""
