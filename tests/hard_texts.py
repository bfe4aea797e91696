"""Texts that are hard to translate without damage, written for these tests: in English and in German."""

_SYMBOLS = (
    "❤️",
    "🙂",
    "👩‍💻",
    "🇩🇪",
    "✓",
    "⌘",
    "♪",
    "★",
    "→",
    "≥ 5",
    "≤ 10",
    "≠",
    "∞",
    "™",
    "©",
    "®",
    "†",
    "¶",
    "√",
    "Ω",
)
_NAMES = ("Łódź", "Dvořák", "Århus", "Øystein", "Škoda", "İstanbul", "Nguyễn", "Þór", "Żywiec", "Αθήνα")
_SCRIPTS = ("日本語", "Привет", "你好", "한국어", "שלום", "سلام", "हिन्दी", "ไทย", "Ελλάδα", "українська")
_AMOUNTS = ("£40", "¥500", "₹99", "20 m²", "3½", "½", "¼", "5 µm", "10³", "CO₂", "±5", "€1,299.99", "$1,299.99", "₿2")
_NUMBERS = (
    "42", "1,024", "3.14", "1,299.99", "007", "2,000,000", "0.5%", "100%", "+49 30 123456", "+1 (555) 123-4567",
    "192.168.0.1", "2.10.3", "v1.0.0-rc1", "10:30", "2024-03-15", "15.03.2024", "1984", "5 km", "12 GB", "16 MHz",
)  # fmt: skip
_CODES = (
    "%s", "%d", "%1$s", "%(name)s", "%%", "%5.2f", "%lu", "{name}", "{0}", "{}", "{count:,d}", "{{ user.name }}",
    "{{name}}", "{{{raw}}}", "{% query %}", "${HOME}", "$PATH", "$(CC)", "%PATH%", "{n, number}", "{d, date, short}",
    "{file_name}", "&nbsp;", "&#8364;", "https://example.org/a?b=c&d=1", "www.example.org", "name@example.org",
)  # fmt: skip
_TAGS = (("<b>", "</b>"), ("<i>", "</i>"), ("**", "**"), ('<a href="page.html">', "</a>"), ("<code>", "</code>"))

_ENGLISH = {
    "symbols": ("I like it {}.", "{} Read this first", "Press {} to go on.", "This is {} the best."),
    "names": ("I live in {}.", "{} is a beautiful city.", "We met {} yesterday."),
    "scripts": ("The word {} is hard to read.", "Write {} here."),
    "amounts": ("The price is {} today.", "{} is enough.", "We need {} more."),
    "numbers": ("The number is {}.", "Use {} if you can.", "You have {} left."),
    "codes": ("Open {} now.", "The file {} was not found.", "{} is not valid."),
}
_GERMAN = {
    "symbols": ("Das gefällt mir {}.", "{} Bitte zuerst lesen", "Das ist {} das Beste."),
    "names": ("Ich wohne in {}.", "{} ist eine schöne Stadt."),
    "scripts": ("Das Wort {} ist schwer zu lesen.", "Schreibe hier {}."),
    "amounts": ("Der Preis ist heute {}.", "{} ist genug."),
    "numbers": ("Die Nummer ist {}.", "Sie haben noch {} übrig."),
    "codes": ("Öffne jetzt {}.", "Die Datei {} wurde nicht gefunden."),
}
_LISTS = {
    "symbols": _SYMBOLS, "names": _NAMES, "scripts": _SCRIPTS, "amounts": _AMOUNTS,
    "numbers": _NUMBERS, "codes": _CODES,
}  # fmt: skip
_ENGLISH_WHOLE = [
    "DO NOT OPEN THIS DOOR.", "ERROR: FILE NOT FOUND", "WARNING! HIGH VOLTAGE", "SAVE ALL CHANGES BEFORE YOU EXIT",
    "How To Open The Door", "New Features In This Version", "Getting Started With Your Computer",
    "It costs $1,299.99.", "Call +49 30 123456.", "We met on 3/15/2024 at 10:30.", "Add 50%% of %s now.",
    "{count, plural, one {# file} other {# files}} deleted", "{g, select, male {He} female {She} other {They}} left.",
    "You have {n, plural, =0 {no messages} one {# message} other {# messages}} and {m} tasks.",
    "{% if user %}Hello{% endif %} {{ user.name }}!", "{{#items}}Item {{name}}{{/items}} is new.",
    "Line one.<br/>Line two.", "Press <b>OK</b> or <i>Cancel</i> to <br/> continue.",
    "The <b>dog</b> is <i>very <u>big</u></i> today.", "<p>Save your file.</p>", "5 < 6 and 7 > 3", "A & B", "AT&T",
    "½", "日本語 текст", "❤️", "★ ★ ★", "10:30", "• First item", "— Yes —", "α and β", "Price: 5 €", "20 °C", "x = y²",
    "See §4 of the “contract”…", "The temperature is −5 °C.", "He said “no” — twice.", "I ♥ New York", "e.g. 3×4 = 12",
    "From 10–20 people came.", "Room 4B, 2nd floor", "It was in the 1990s.", "H2O and CO₂ are x86-free.",
    "Copyright © 2024 Example Ltd. All rights reserved.", "C:\\Users\\me\\file.txt", "/usr/share/doc/README.md",
    "Ctrl+Alt+Del", "Windows 11 and macOS 14.5", "Order #12345 of 2024-01-31", "50% off, 3 for 2!", "1/2 cup, 3/4 full",
]  # fmt: skip
_GERMAN_WHOLE = [
    "DIESE TÜR NICHT ÖFFNEN.", "FEHLER: DATEI NICHT GEFUNDEN", "ACHTUNG! HOCHSPANNUNG", "ALLE ÄNDERUNGEN SPEICHERN",
    "Das kostet 1.299,99 €.", "Rufen Sie +49 30 123456 an.", "Wir trafen uns am 15.03.2024 um 10:30 Uhr.",
    "{count, plural, one {# Datei} other {# Dateien}} gelöscht", "{% if user %}Hallo{% endif %} {{ user.name }}!",
    "Zeile eins.<br/>Zeile zwei.", "Drücken Sie <b>OK</b> oder <i>Abbrechen</i>.", "<p>Speichern Sie die Datei.</p>",
    "½", "日本語 текст", "❤️", "★ ★ ★", "• Erster Punkt", "α und β", "20 °C", "Siehe §4 des „Vertrags“ …",
    "Zimmer 4B, 2. Stock", "Es war in den 1990er Jahren.", "Fügen Sie 50%% von %s hinzu.", "50 % Rabatt, 3 für 2!",
    "Die Temperatur beträgt −5 °C.", "Größe: 3×4 m²", "Bestellung #12345 vom 31.01.2024", "Strg+Alt+Entf",
]  # fmt: skip
_MARKED = [
    "You must {}never{} delete this file.", "The {}red{} car is fast.", "Click the {}button{} to continue.",
    "He drinks {}cold water{} in the morning.",
]  # fmt: skip


def english() -> list[str]:
    """Several hundred texts."""
    marked = [text.format(*pair) for text in _MARKED for pair in _TAGS]
    return [*_filled(_ENGLISH), *_ENGLISH_WHOLE, *marked]


def german() -> list[str]:
    """Some hundred texts."""
    marked = [f"Sie dürfen diese Datei {opening}niemals{closing} löschen." for opening, closing in _TAGS]
    return [*_filled(_GERMAN), *_GERMAN_WHOLE, *marked]


def _filled(frames: dict[str, tuple[str, ...]]) -> list[str]:
    """Each string of each list, in one frame after the other."""
    return [
        frames[name][place % len(frames[name])].replace("{}", string, 1)
        for name, strings in _LISTS.items()
        for place, string in enumerate(strings)
    ]
