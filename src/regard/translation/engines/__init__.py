"""What searches sentences for a Translator: one file an engine."""
