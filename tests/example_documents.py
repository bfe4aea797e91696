"""A small document of every format that can be translated, with what is hard in it."""

PO = r"""# A head.
msgid ""
msgstr ""
"Language: \n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. For a button.
#: main.c:10
msgid "Open"
msgstr "Öffnen"

#: main.c:20
#, c-format
msgctxt "menu"
msgid "Save %s"
msgstr ""

#, fuzzy
#| msgid "Close"
msgid "Close it"
msgstr "Schliessen"

msgid "One file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid ""
"Usage: \"run\"\n"
"  <b>now</b> or later\n"
msgstr ""

msgid "12 %"
msgstr ""

#~ msgid "Gone"
#~ msgstr "Weg"
"""

XLIFF_1 = """<?xml version='1.0' encoding="utf-8"?>
<!-- <source>not this</source> -->
<xliff version="1.2"  xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a" source-language="en" datatype="plaintext">
    <body>
      <trans-unit id='1'>
        <source>Press <g id="1">the &lt;OK&gt; button</g> &amp; wait<x id="2"/> now</source>
      </trans-unit>
      <trans-unit id="2"><source>Done already</source><target>Schon fertig</target></trans-unit>
      <trans-unit id="3"><source>To do</source><target state="needs-translation">To do</target>
        <alt-trans><source>To</source><target>Zu</target></alt-trans></trans-unit>
      <trans-unit id="4" translate="no"><source>CODE</source></trans-unit>
      <trans-unit id="5"><source><bpt id="1">{\\b </bpt>All bold<ept id="1">}</ept></source><target/></trans-unit>
      <trans-unit id="6"><source>Once more</source><target state="needs-adaptation">Noch mal</target></trans-unit>
      <trans-unit id="7"><source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk
        mtype="seg" mid="2">Two.</mrk></seg-source></trans-unit>
    </body>
  </file>
</xliff>
"""

XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de-DE">
 <file id="f"><unit id="1">
  <segment id="a"><source>See <pc id="1">the
     guide</pc>.</source></segment>
  <segment id="b" state="final"><source>Yes</source><target>Ja</target></segment>
  <segment id="c" state="initial"><source>A <ph id="1"/> B</source><target></target></segment>
 </unit></file>
</xliff>
"""

TMX = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en" datatype="plaintext"/><body>
  <tu tuid="1">
    <prop type="x">keep</prop>
    <tuv xml:lang="en-US" creationid="ann">
      <seg>The caf\xe9 is <bpt i="1">&lt;b&gt;</bpt>open<ept i="1">&lt;/b&gt;</ept>.</seg>
    </tuv>
  </tu>
  <tu><tuv xml:lang="en-US"><seg>Yes</seg></tuv><tuv xml:lang="de-AT"><seg>Ja</seg></tuv></tu>
  <tu><tuv xml:lang="en-US"><seg>No</seg></tuv><tuv xml:lang="de-AT"><seg/></tuv></tu>
  <tu><tuv xml:lang="fr"><seg>Non</seg></tuv></tu>
</body></tmx>
"""

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Where are you</i>
going tonight?

2
00:00:03,000 --> 00:00:04,000 X1:0
{\\an8}- Nowhere.
- Really?

3
00:00:05,000 --> 00:00:06,000
...
"""

VTT = """WEBVTT - a title

STYLE
::cue { color: red }

NOTE not for people

intro
00:01.000 --> 00:02.500 align:start
<v Ann>Fish &amp; chips, <c.loud>please</c>!
"""

MD = """---
title: Front matter
---
# The *first* heading ##

A paragraph with `code`, a [link](page.md "Title") and
an ![image](a.png). It goes on: https://example.org/a_b.

> A quote that is
> two lines.

- [ ] an item
- [ref] and <b>tags</b>\x20\x20
  after a break

```python
print("kept")
```

    indented code

| Head | `x` |
|------|:---:|
| a \\| b | two **words** |

<div>
html
</div>

[ref]: https://example.org "kept"
"""

TXT = "\ufeffOne line\r\n\r\n  Two lines \r\n123\r\nno end"

HTML = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8">
  <title>Fish &amp; chips</title>
  <meta name="description" content="A page about food">
  <style>p > a { color: red }</style>
  <script>if (a < b) { say("<p>kept</p>"); }</script>
</head>
<body class=main>
  <!-- a <b>comment</b> -->
  <p>Press&nbsp;<b>the <i title="Hint">red</i></b> button<br>now &mdash; or <code>run it</code> later.
     <img src=a.png alt='A cat'></p>
  <p translate="no">Brand name</p><pre>keep
   this</pre>
  <ul><li>One<li>Two <a href="?a=1&b=2">links</a></ul>
  <input type="text" placeholder=Search><input type="submit" value="Send it"><button aria-label="Close">×</button>
</body>
</html>
"""

JSON = """{
\t"greeting": "Hello {{name}}, <b>welcome</b>!",
  "nested": {"list": ["First item", "Second \\"item\\""], "count": 3, "url": "https://example.org/a"},
  "icon": "arrow_left", "line": "one\\ntwo"
}
"""

ARB = """{
  "@@locale": "en",
  "title": "My page",
  "@title": {"description": "The title"},
  "count": "{n} items"
}
"""

YAML = """# A comment
en:
  greeting: Hello there   # kept
  single: 'It''s mine'
  double: "A \\"quoted\\" word"
  block: |
    First line
    Second line
  folded: >-
    Folded words
    go on
  yes_no: "Yes"
  order: &anchor {a: Some text, b: 12}
  again: *anchor
  list: [One thing, ~, true]
"""

PROPERTIES = r"""# comment = kept
! another
open=&Open the file
long = A long value that \
       goes on here
path:/usr/share/x
escaped\ key\:x = caf\u00e9 time
pattern=You can''t open {0}
empty=
"""

ANDROID = r"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- <string name="not">Not this</string> -->
    <string name="app_name" translatable="false">MyApp</string>
    <string name="hello">Don\'t <b>panic</b>,\n<xliff:g id="who" example="Ann">%1$s</xliff:g> is here</string>
    <string name="quoted">"It's  quoted"</string>
    <string name="html"><![CDATA[Read <a href="x">this & that</a>]]></string>
    <string name="reference">@string/hello</string>
    <plurals name="files"><item quantity="one">%d file</item><item quantity="other">%d files</item></plurals>
    <string-array name="days"><item>Monday</item><item>Tuesday</item></string-array>
    <color name="red">#f00</color>
</resources>
"""

TS = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" sourcelanguage="en">
<context>
    <name>Window</name>
    <message>
        <location filename="a.cpp" line="1"/>
        <source>&amp;Open file</source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message><source>Done &lt;b&gt;now&lt;/b&gt;</source><translation>Fertig</translation></message>
    <message><source>Gone</source><translation type="vanished">Weg</translation></message>
</context>
</TS>
"""

RESX = """<?xml version="1.0" encoding="utf-8"?>
<root>
  <resheader name="version"><value>2.0</value></resheader>
  <data name="Open" xml:space="preserve"><value>&amp;Open it</value><comment>kept</comment></data>
  <data name="Image" type="System.Drawing.Bitmap"><value>a.png</value></data>
  <data name="Text" xml:space="preserve"><value>Press {0} &lt;now&gt;</value></data>
</root>
"""

EXAMPLES = {
    "a.po": PO,
    "windows.po": PO.replace("\n", "\r\n"),
    "one.xlf": XLIFF_1,
    "two.xliff": XLIFF_2,
    "a.tmx": TMX,
    "a.srt": SRT,
    "a.vtt": VTT,
    "a.md": MD,
    "a.txt": TXT,
    "a.html": HTML,
    "a.json": JSON,
    "a.arb": ARB,
    "a.yml": YAML,
    "a.properties": PROPERTIES,
    "strings.xml": ANDROID,
    "a.ts": TS,
    "a.resx": RESX,
}
