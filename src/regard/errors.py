"""What can go wrong for a person who uses Regard.

RegardError                 everything below; catch this one
├── SettingsError           a setting is unknown, missing or out of range
├── CorpusError             a corpus, in files or stored, is missing, damaged or not what it should be
├── TextError               text that cannot be read, kept or turned into tokens
├── LengthError             a text is longer than a model can take
├── ModelFolderError        a model folder is missing, damaged, foreign or too new
├── CheckpointError         a checkpoint is damaged
├── TrainingError           training cannot start or go on
└── TranslatorError         a Translator is used in a process that it cannot work in

A message says what went wrong, where, what was expected and what to do next. Our own mistakes are `assert`s.
"""


class RegardError(Exception):
    """Something that the person who runs Regard can mend; the message says how."""


class SettingsError(RegardError):
    """A setting is unknown, missing or out of range."""


class CorpusError(RegardError):
    """A corpus, in files or stored, is missing, damaged or not what it should be."""


class TextError(RegardError):
    """Text cannot be read, kept or turned into tokens."""


class LengthError(RegardError):
    """A text is longer than a model can take."""


class ModelFolderError(RegardError):
    """A model folder is missing, damaged, foreign or written by a newer Regard."""


class CheckpointError(RegardError):
    """A checkpoint is damaged."""


class TrainingError(RegardError):
    """Training cannot start or go on."""


class TranslatorError(RegardError):
    """A Translator is used in a process that it cannot work in."""
