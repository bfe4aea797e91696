// Every visible text with its contrast to what is behind it, and the contrast that WCAG 2.2 AA asks of its size.
() => {
  const parse = text => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return { r, g, b, a }; };
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
}
