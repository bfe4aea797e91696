"""Parts of recipes/corpus_en_de.py."""
