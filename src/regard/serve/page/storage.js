// What this browser keeps: the theme, the languages, the glossary. Texts are never stored.

const PREFIX = "regard.";

export function stored(name, otherwise) {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch { return otherwise; }
}

export function store(name, value) {
  try { localStorage.setItem(PREFIX + name, JSON.stringify(value)); } catch { /* Private windows may refuse; the value then lives as long as the page. */ }
}
