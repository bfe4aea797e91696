"""Sequences that are not text: arrays of vectors, and images as rows of patches. No tensors.

`examples.read` opens a .npz file (`npz.py`), a folder of images or a single image (`images.py`). `shape.py` describes
the vectors that a model reads.
"""
