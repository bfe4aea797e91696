"""What several architectures share: embeddings, positions, caches, convolutions, and how weights start."""
