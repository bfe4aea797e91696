"""What benchmarks/published.py is made of."""
