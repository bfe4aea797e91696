"""From text to text."""
