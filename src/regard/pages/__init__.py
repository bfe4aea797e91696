"""What Regard's pages have in common."""
