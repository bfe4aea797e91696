"""Strings to ids and back: subwords, characters, bytes, words. No tensors.

Every file in `kinds` is a kind of tokeniser; `tokeniser.py` says what such a file contains.
"""

from regard.tokens.pair import Tokenisers
from regard.tokens.tokeniser import Tokeniser, kind_names
from regard.tokens.tokeniser_settings import TokeniserSettings
from regard.tokens.training import train

__all__ = ["Tokeniser", "TokeniserSettings", "Tokenisers", "kind_names", "train"]
