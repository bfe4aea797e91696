r"""Names that are written for a computer, as patterns: they mean something only letter by letter.

/etc/hosts ~/notes ../a C:\Users\me  config.yaml example.org  --force -v  my_var MAX_SIZE __init__
getElementById open()  C++  0x1F d41d8cd98f 2001:db8::1  :count

Names that people say as well stay words: `iPhone` and `YouTube` have only one capital within. Text in backquotes is
translated: in the messages of programs, they often are just quotation marks, which the translation writes as its own.
"""

from __future__ import annotations

_ENDINGS = (
    "txt|md|rst|html?|css|js|ts|jsx|tsx|json|xml|ya?ml|toml|ini|cfg|conf|csv|tsv|log|py|cpp|hpp|java|rb|php|sh|bat|exe|dll"
    "|zip|tar|gz|tgz|bz2|xz|7z|pdf|docx?|xlsx?|pptx?|od[tsp]|png|jpe?g|gif|svg|bmp|ico|mp[34]|wav|avi|mkv|sqlite|db|po|pot"
    "|xlf|tmx|srt|vtt|properties"
)
_DOMAINS = "com|org|net|edu|gov|io|de|at|ch|uk|fr|es|nl|pl|eu|info|dev"
_HEX = "[0-9A-Fa-f]"

IDENTIFIERS = (
    r"(?<!\w)[A-Za-z]:\\(?:[\w.+-]+\\)*[\w.+-]*\w",
    r"(?<![\w/.~<>-])(?:~|\.{1,2}|(?=/[\w.+@-]+/))/(?:[\w.+@-]+/)*(?:[\w.+@-]*\w)?",
    r"(?<![\w/.~<>)\]-])/[a-z][\w.+-]*\w",
    rf"(?<![\w.@/-])[\w-]+(?:\.[\w-]+)*\.(?:{_ENDINGS})(?!\w|\.\w)",
    rf"(?<![\w.@/-])[A-Za-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*\.(?:{_DOMAINS})(?::\d+)?(?:/[\w./#?=&-]*\w)?(?!\w|\.\w)",
    r"(?<![\w-])--[A-Za-z][\w-]*\w(?:=[\w./-]*\w)?",
    r"(?:(?<=[\s(\"'])|^)-[A-Za-z](?![\w-])",
    r"(?<!\w)[A-Za-z_][\w.]*\(\)",
    r"(?<!\w)(?:[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z](?:[A-Za-z0-9]*_){2,}[A-Za-z0-9]+|__\w+__)(?!\w)",
    r"(?<!\w)(?:[a-z]{2}[a-z0-9]*(?:[A-Z][a-z0-9]*)+|(?:[A-Z][a-z0-9]+){3,})(?!\w)",
    r"(?<![\w+])[A-Za-z]+\+\+(?![\w+])",
    rf"(?<!\w)0x{_HEX}+(?!\w)",
    rf"(?<![\w-]){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?![\w-])",
    r"(?<!\w)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?!\w)",
    rf"(?<![\w:])(?=[0-9:]*[A-Fa-f]|[\w:]*::)(?:{_HEX}{{1,4}}:+){{2,7}}{_HEX}{{1,4}}(?![\w:])",
    r"(?:(?<=\s)|^):[a-z]\w+(?!\w)",
)
SIGNS = (  # a text without any of these has none of these names
    r"[_\\~]|--|\(\)|\+\+|[a-z][A-Z]|\.[A-Za-z]{2}|(?<![\w/.])\.{0,2}/\w|(?<!\S)[-:][A-Za-z]|[\"'(]-[A-Za-z]"
    r"|\d[a-f]|[a-f]\d|0x|:\w+:"
)
