"""How the web page looks: contrasts, names for screen readers, phones, light and dark."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from page_stub import Stub

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'regard[dev]'")
expect = sync_api.expect
expect.set_options(timeout=15_000)

Surf = Callable[..., Any]
TEXT = "The old cat sleeps. It is late."

# Every visible text with its contrast to what is behind it, and the contrast that WCAG 2.2 AA asks of its size.
CONTRASTS = """() => {
  const parse = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { r, g, b, a }; };
  const light = ({ r, g, b }) => { const [x, y, z] = [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1 });
  const ground = node => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const open = document.querySelector("dialog[open]");
  const add = (node, text, colour) => {
    const style = getComputedStyle(node), size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const under = ground(node), front = over(parse(colour), under), [a, b] = [light(front), light(under)].sort((x, y) => y - x);
    found.push({ text: text.trim().slice(0, 40), contrast: (a + 0.05) / (b + 0.05), needed: large ? 3 : 4.5 });
  };
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement, text = walker.currentNode.data;
    if (!text.trim() || !node.checkVisibility() || node.closest(".unseen, .skip, option, :disabled, #mirror") || (open && !open.contains(node))) continue;
    add(node, text, getComputedStyle(node).color);
  }
  if (!open) {
    const field = document.getElementById("text"), select = document.getElementById("source");
    add(field, "the text", getComputedStyle(field).color);
    add(field, "the placeholder", getComputedStyle(field, "::placeholder").color);
    add(select, "the language", getComputedStyle(select).color);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    server = Stub()
    yield server
    server.close()


def opened(shown: Any) -> Any:
    """With everything on it: a translation, alternatives, attention with a head off, a problem, a file."""
    page = shown.page
    page.fill("#text", TEXT)
    expect(page.locator("#output .sentence:not(.stale)")).to_have_count(2)
    page.locator("#output .sentence").first.click()
    expect(page.locator("#attention")).to_be_visible()
    page.click('[data-name="decoder-source.0.1"]')
    page.click("#head-switch")
    expect(page.locator("#inspected-target mark")).to_have_count(3)
    page.set_input_files("#file", {"name": "a.exe", "mimeType": "text/plain", "buffer": b"x"})
    expect(page.locator("#files .problem")).to_be_visible()
    page.locator("summary").click()
    page.locator("#output .word").last.hover()
    expect(page.locator("#alternatives")).to_be_visible()
    return shown


def too_faint(shown: Any) -> list[Any]:
    found = shown.page.evaluate(CONTRASTS)
    assert len(found) > 5
    return [each for each in found if each["contrast"] < each["needed"]]


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_has_the_contrast_that_wcag_aa_asks_for(surf: Surf, stub: Stub, dark: bool) -> None:
    shown = opened(surf(stub.address, dark=dark))
    assert shown.page.locator(".lit").count() == 2
    assert too_faint(shown) == []
    shown.page.fill("#text", "x " * 300)
    expect(shown.page.locator("#notice")).to_be_visible()
    assert too_faint(shown) == []
    shown.page.click("#open-glossary")
    assert too_faint(shown) == []


def test_everything_that_takes_the_focus_has_a_name_and_shows_the_focus(surf: Surf, stub: Stub) -> None:
    shown = opened(surf(stub.address))
    session = shown.page.context.new_cdp_session(shown.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    reachable = [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in nodes
        if any(each["name"] == "focusable" and each["value"]["value"] for each in node.get("properties", []))
    ]
    names = [name for role, name in reachable if role not in ("RootWebArea",)]
    assert len(names) > 20
    assert "" not in names
    assert {"Source language", "Target language", "Text to translate", "Swap languages", "Dark mode"} <= set(names)
    shown.page.locator("#inspector-close").click()
    shown.page.focus("#text")
    order = []
    for _ in range(12):
        shown.page.keyboard.press("Tab")
        order.append(shown.page.evaluate("document.activeElement.id"))
        seen = shown.page.evaluate("(s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2)(getComputedStyle(document.activeElement))")
        assert seen or order[-1] in ("text", ""), order[-1]
    assert {"clear", "copy"} <= set(order)


def test_the_translation_is_announced_and_its_language_is_marked(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    shown.page.fill("#text", TEXT)
    expect(shown.page.locator("#output .sentence")).to_have_count(2)
    output = shown.page.locator("#output")
    assert (output.get_attribute("aria-live"), output.get_attribute("lang")) == ("polite", "de")
    assert shown.page.get_attribute("#target-pane", "aria-busy") == "false"
    assert shown.page.get_attribute("#notice-text", "role") == "alert"
    first = shown.page.locator("#output .sentence").first.element_handle()
    shown.page.fill("#text", TEXT + " Good night.")
    expect(shown.page.locator("#output .sentence")).to_have_count(3)
    assert shown.page.evaluate("node => node.isConnected && node.firstChild.isConnected", first), "read out again"


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_shows_all_of_it_without_scrolling_sideways(surf: Surf, stub: Stub, width: int) -> None:
    shown = surf(stub.address, width=width, touch=True)
    page = shown.page
    page.fill("#text", TEXT)
    expect(page.locator("#output .sentence:not(.stale)")).to_have_count(2)
    page.locator("#output .sentence").first.tap()
    expect(page.locator("#attention")).to_be_visible()
    assert page.locator("#other-list button").all_inner_texts() == ["THE OLD CAT SLEEPS!"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    text, output = (page.locator(name).bounding_box() for name in ("#text", "#output"))
    assert output["y"] >= text["y"] + text["height"]
    sizes = "nodes => nodes.filter(n => n.checkVisibility() && !n.matches('.link, .unseen')).map(n => [n.id, n.getBoundingClientRect()]).map(([id, r]) => [id, r.width, r.height])"
    small = [each for each in page.eval_on_selector_all("main button, header button, select", sizes) if min(each[1:]) < 24]
    assert small == []


def test_dark_mode_follows_the_system_until_it_is_chosen(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    page, ground = shown.page, "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    dark = page.evaluate(ground)
    assert dark != light
    page.click("#theme")
    assert page.evaluate(ground) == light
    page.reload()
    assert page.evaluate(ground) == light
    assert page.get_attribute("#theme", "aria-pressed") == "false"
