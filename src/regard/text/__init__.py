"""Strings: sentence pairs, their normal form, cleaning, and one file per format. No tensors here."""
