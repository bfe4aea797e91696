"""Ids to tensors: rows, the one batch format."""
