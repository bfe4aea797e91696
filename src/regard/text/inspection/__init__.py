"""What `regard check` looks for in a corpus, one file for each concern."""
