"""One file for each kind of tokeniser; the name of the file is the name of the kind."""
