"""Where the pairs come from: files, licences, attributions, and how often each source is repeated in training.

Only sources whose licences allow a trained model to be shipped are listed.
"""

from __future__ import annotations

import gzip
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Pair = tuple[str, str]  # English, German

_DAMAGED = "\ufffd"  # stands for a character that was lost


class Source(NamedTuple):
    """One source of pairs."""

    name: str
    files: tuple[str, ...]
    about: str
    origin: str
    licence: str
    copies: float = 1.0  # in the training data; below one, a sample
    columns: tuple[int, int] = (0, 1)
    test: int = 1_000
    valid: int = 500


SOURCES = (
    Source(
        "europarl",
        tuple(f"europarl/en-de.part{part}.tsv.xz" for part in range(7)),
        "speeches in the European Parliament, 1999 to 2011",
        "the European Parliament (europarl.europa.eu), by way of Europarl-direct",
        "reuse allowed if the source is acknowledged",
    ),
    Source(
        "tatoeba",
        ("tatoeba/en-de.train.tsv.gz",),
        "everyday sentences",
        "Tatoeba (tatoeba.org) by way of www.manythings.org/anki",
        "CC BY 2.0 FR",
        copies=3,
        test=0,  # Tatoeba has splits of its own
        valid=0,
    ),
    Source(
        "libreoffice-help",
        ("libreoffice-help/en-de.tsv.gz",),
        "the help of LibreOffice 7.4.7",
        "LibreOffice contributors, from Debian's libreoffice-help packages",
        "MPL-2.0",
    ),
    Source(
        "software-catalogs",
        ("software-catalogs/en-de.tsv.gz",),
        "messages of ten web and desktop programs",
        "Home Assistant, Superset, Indico, Django, django CMS, Wagtail, Trac, JupyterLab, Sphinx and contributors",
        "Apache-2.0, MIT, BSD",
        copies=2,
        columns=(2, 3),
    ),
    Source(
        "chromium",
        ("parallel-en-de/chromium.tsv.gz",),
        "messages of Chromium",
        "the Chromium authors, from Debian's chromium-l10n package",
        "BSD-3-Clause",
        copies=2,
        test=500,
        valid=200,
    ),
    Source(
        "android-settings",
        ("parallel-en-de/android-settings.tsv.gz",),
        "messages of Android's settings",
        "the Android Open Source Project, by way of LineageOS",
        "Apache-2.0",
        copies=2,
        test=300,
        valid=100,
    ),
    Source(
        "dotnet-docs",
        ("parallel-en-de/dotnet-docs.tsv.gz",),
        "documentation of .NET",
        "Microsoft and contributors",
        "CC BY 4.0",
    ),
    Source(
        "debianweb",
        ("parallel-en-de/debianweb.tsv.gz",),
        "Debian's web site: news and technical prose",
        "Software in the Public Interest and the Debian web team",
        "MIT or GPL-2+ since 2012, Open Publication License before",
    ),
    Source(
        "phpdoc",
        ("parallel-en-de/phpdoc.tsv.gz",),
        "the PHP manual",
        "the PHP Documentation Group",
        "CC BY 3.0",
    ),
    Source(
        "githubdocs",
        ("parallel-en-de/githubdocs.tsv.gz",),
        "GitHub's documentation",
        "GitHub and contributors",
        "CC BY 4.0",
        test=500,
        valid=200,
    ),
    Source(
        "suttacentral",
        ("parallel-en-de/suttacentral.tsv.gz",),
        "Buddhist texts: narrative and dialogue",
        "SuttaCentral's translators",
        "CC0",
    ),
    Source(
        "bible",
        ("parallel-en-de/bible.tsv.gz",),
        "the Bible: Luther 1912 beside three English versions, a sample",
        "eBible.org",
        "public domain",
        copies=0.25,
        test=0,  # old-fashioned: no measure of anything that is wanted
        valid=0,
    ),
)


def pairs(source: Source, folder: Path) -> Iterator[Pair]:
    """The pairs of a source without damaged characters. The strings of Spyder are left out: they are for measuring how
    models adapt.
    """
    for name in source.files:
        for line in lines(folder / name):
            cells = line.split("\t")
            if source.name == "software-catalogs" and cells[0].startswith("spyder-"):
                continue
            english, german = (cells[column].strip() for column in source.columns)
            if english and german and _DAMAGED not in english + german:
                yield english, german


def lines(path: Path) -> Iterator[str]:
    """The lines of a compressed file."""
    if not path.is_file():
        sys.exit(f"{path}: there is no such file. Set REGARD_DATA to the folder with the data.")
    with (lzma.open if path.suffix == ".xz" else gzip.open)(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from (line.rstrip("\n") for line in file)
