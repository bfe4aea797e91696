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
IDENTIFIERS = (
    "open()", "config.yaml", "README.md", "foo_bar.txt", "Node.js",
    "example.org", "/etc/hosts", "~/notes", "../data/a.csv", "C:\\Users\\me", "--force", "--dry-run", "my_var",
    "MAX_SIZE", "__init__", "HttpRequestHandler", "getElementById", "os.path.join()", "C++", "0x1F", "2001:db8::1",
    "00:1A:2B:3C:4D:5E", "d41d8cd98f00b204", "123e4567-e89b-12d3-a456-426614174000", "<kbd>Ctrl</kbd>+<kbd>C</kbd>",
)  # fmt: skip
_TAGS = (("<b>", "</b>"), ("<i>", "</i>"), ("**", "**"), ('<a href="page.html">', "</a>"), ("<code>", "</code>"))

_ENGLISH = {
    "symbols": ("I like it {}.", "{} Read this first", "Press {} to go on.", "This is {} the best."),
    "names": ("I live in {}.", "{} is a beautiful city.", "We met {} yesterday."),
    "scripts": ("The word {} is hard to read.", "Write {} here."),
    "amounts": ("The price is {} today.", "{} is enough.", "We need {} more."),
    "numbers": ("The number is {}.", "Use {} if you can.", "You have {} left."),
    "codes": ("Open {} now.", "The file {} was not found.", "{} is not valid."),
    "identifiers": ("Use {} to see the files.", "The name {} is not known.", "We wrote about {} yesterday."),
}
_GERMAN = {
    "symbols": ("Das gefällt mir {}.", "{} Bitte zuerst lesen", "Das ist {} das Beste."),
    "names": ("Ich wohne in {}.", "{} ist eine schöne Stadt."),
    "scripts": ("Das Wort {} ist schwer zu lesen.", "Schreibe hier {}."),
    "amounts": ("Der Preis ist heute {}.", "{} ist genug."),
    "numbers": ("Die Nummer ist {}.", "Sie haben noch {} übrig."),
    "codes": ("Öffne jetzt {}.", "Die Datei {} wurde nicht gefunden."),
    "identifiers": ("Der Name {} ist unbekannt.", "Wir haben gestern über {} geschrieben."),
}
_LISTS = {
    "symbols": _SYMBOLS, "names": _NAMES, "scripts": _SCRIPTS, "amounts": _AMOUNTS,
    "numbers": _NUMBERS, "codes": _CODES, "identifiers": IDENTIFIERS,
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
    "Thumbs up 👍🏽 for everyone!", "The family 👨‍👩‍👧‍👦 is happy.", "I love you ❤️‍🔥 so much.", "Good morning ☀️!",
    "The word \u200fשלום\u200f means peace.", "Mr. 山田 lives in 東京.", "I read Толстой and Достоевский.",
    "The area is πr².",
    "If a ≤ b then f(a) ≤ f(b).", "The mass is 5×10³ kg.", "10⁻³ is small.", "H₂O is water.", "Latitude 52°31'N",
    "He paid CHF 12.50 for the coffee.", "Revenue rose by 3.5 % to €2.4 billion.", "The car drives 120 km/h.",
    "Add 250 ml of milk and 1½ cups of flour.", "Drive 5 mi, then 300 ft.", "It weighs 70 kg (154 lb).", "£1.5bn",
    "The meeting is on December 24, 2024.", "The meeting is on 12/24/2024.", "The deadline is 2024-12-31T23:59:59Z.",
    "Call +44 20 7946 0958 or +1-800-555-0199.", "Fax: 0049/30/123456", "ISBN 978-3-16-148410-0",
    "IBAN DE89 3704 0044 0532 0130 00", "There are 1 000 000 stars.", "The score was 3:2 after 90+4 minutes.",
    "Boeing 747-8 and Airbus A380", "It is 5'11\" tall.", "Take 2–3 tablets every 4–6 hours.", "24/7 service",
    "<b>One</b><i>two</i><u>three</u>", "<p>First paragraph.</p><p>Second paragraph.</p>",
    "<ul><li>Milk</li><li>Bread</li></ul>", "The <b></b> empty tag is here.",
    "<img src=\"a.png\"/> The picture is nice.",
    "<b><i>Important:</i></b> save your work.", "You <b>have not</b> paid <i>the <u>last</u> bill</i> yet.",
    "Caf&eacute; &mdash; open daily", "&quot;Hello&quot;, she said.", "Loaded %lu of %lu bytes (%.1f%%).",
    "%d%% complete",
    "Dear {{customer_name}}, your order {{order.id}} has been shipped.",
    "{{ user.name|upper }} has {{ count }} messages.",
    "You have {count} unread {count, plural, one {message} other {messages}}.", "%1$s sent you %2$d messages.",
    "a) First choice", "[x] Done", ":-) I am happy.", "PRESS <b>OK</b> TO CONTINUE", "CALL +49 30 123456 NOW!",
]  # fmt: skip
_GERMAN_WHOLE = [
    "DIESE TÜR NICHT ÖFFNEN.", "FEHLER: DATEI NICHT GEFUNDEN", "ACHTUNG! HOCHSPANNUNG", "ALLE ÄNDERUNGEN SPEICHERN",
    "Das kostet 1.299,99 €.", "Rufen Sie +49 30 123456 an.", "Wir trafen uns am 15.03.2024 um 10:30 Uhr.",
    "{count, plural, one {# Datei} other {# Dateien}} gelöscht", "{% if user %}Hallo{% endif %} {{ user.name }}!",
    "Zeile eins.<br/>Zeile zwei.", "Drücken Sie <b>OK</b> oder <i>Abbrechen</i>.", "<p>Speichern Sie die Datei.</p>",
    "½", "日本語 текст", "❤️", "★ ★ ★", "• Erster Punkt", "α und β", "20 °C", "Siehe §4 des „Vertrags“ …",
    "Zimmer 4B, 2. Stock", "Es war in den 1990er Jahren.", "Fügen Sie 50%% von %s hinzu.", "50 % Rabatt, 3 für 2!",
    "Die Temperatur beträgt −5 °C.", "Größe: 3×4 m²", "Bestellung #12345 vom 31.01.2024", "Strg+Alt+Entf",
    "Daumen hoch 👍🏽 für alle!", "Ich liebe dich ❤️‍🔥 so sehr.", "Das Wort \u200fשלום\u200f bedeutet Frieden.",
    "Die Fläche ist πr².",
    "Herr 山田 wohnt in 東京.", "Das Auto fährt 120 km/h.", "Nachts fällt die Temperatur auf -12 °C.",
    "Am 1. Mai ist frei.",
    "Das Treffen ist am 24. Dezember 2024.", "Rufen Sie +49 (0)30 123456-78 an.", "Tel.: 0221 / 12 34 56",
    "§ 5 Abs. 2 BGB",
    "Ich bin 1,80 m groß und wiege 75 kg.", "1 234 567 Einwohner", "Der DAX stieg um 1,5 % auf 18.000 Punkte.",
    "Der 2. Weltkrieg endete 1945.", "DE89 3704 0044 0532 0130 00", "2–3 Tabletten alle 4–6 Stunden", "GRÖẞE UND FARBE",
    "<b>Eins</b><i>zwei</i><u>drei</u>", "<p>Erster Absatz.</p><p>Zweiter Absatz.</p>", "%d%% fertig", "Nr. 1",
    "Sie <b>haben</b> die Rechnung <i>noch <u>nicht</u> bezahlt</i>.", "Tom &amp; Jerry sind Freunde.", "• Eier kaufen",
    "Hallo {{name}}, Ihre Bestellung {{order.id}} wurde versandt.", "%1$s hat Ihnen %2$d Nachrichten geschickt.",
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
