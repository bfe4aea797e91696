"""Parts of the benchmarks of the server."""
