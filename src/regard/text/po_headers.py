"""Headers of PO catalogues: what a template (POT) leaves open is filled in."""

from __future__ import annotations

import re
from datetime import datetime

from regard.text.plurals import plural_forms

_FORMS = re.compile(r"nplurals\s*=\s*(\d+)")
_FIELD = re.compile(r"^([A-Za-z-]+):[ \t]*(.*)$")
_OPEN = frozenset({"", "YEAR-MO-DA HO:MI+ZONE", "FULL NAME <EMAIL@ADDRESS>", "LANGUAGE <LL@li.org>"})


def plural_count(header: str) -> int | None:
    """How many plural forms a header states."""
    found = _FORMS.search(header)
    return int(found[1]) if found else None


def is_template(header: str) -> bool:
    """Whether a header is that of a template."""
    return "charset=CHARSET" in header or "nplurals=INTEGER" in header


def in_language(header: str, language: str) -> str:
    """The header of a catalogue of the source language without translations, for one in another language."""
    code = language.replace("-", "_")
    now = {"Language": code, "Language-Team": code, "Plural-Forms": plural_forms(language).header()}
    lines = []
    for line in header.split("\n"):
        name = found[1] if (found := _FIELD.match(line)) else ""
        lines.append(f"{name}: {now[name]}" if name in now else line)
    return "\n".join(lines)


def filled(header: str, language: str) -> str:
    """The header of a new catalogue in a language."""
    code = language.replace("-", "_")
    now = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M%z")
    forms = plural_forms(language).header()
    wanted = {
        "PO-Revision-Date": now,
        "Last-Translator": "Regard",
        "Language-Team": code,
        "Language": code,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    always = {"Content-Type", "Plural-Forms"}
    lines = []
    for line in header.split("\n"):
        found = _FIELD.match(line)
        name = found[1] if found else ""
        value = wanted.pop(name, None) if name != "Plural-Forms" else forms
        open_ = bool(found) and (name in always or found[2].strip() in _OPEN) if found else False
        lines.append(f"{name}: {value}" if value is not None and open_ else line)
    missing = [f"{name}: {value}" for name, value in wanted.items()]
    missing += [] if _FORMS.search(header) or "nplurals" in header else [f"Plural-Forms: {forms}"]
    end = [""] if lines and not lines[-1] else []
    return "\n".join([*(lines[:-1] if end else lines), *missing, *end])
