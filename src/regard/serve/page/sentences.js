// Where a text is cut into sentences: the rules of regard/text/sentences.py, so that each sentence is one request.

const BREAKS = "\\n\\r\\x0b\\x0c\\x85\\u2028\\u2029";
const CLOSING = "\"'”’“‘»›)\\]}」』）】》〉〕］｣", OPENING = "\"'“‘„‚«‹(\\[{¿¡「『（【《〈〔［｢–—•*\\-";
const MARKS = ".!?…‽؟۔।॥։።፧။៕᙮", WIDE = "。！？｡．";
const END = new RegExp(`(?<wide>[${WIDE}]+[${MARKS}]*(?:[${CLOSING}]+(?=[\\s${OPENING}]|$))?(?![${CLOSING}]))\\s*`
  + `|(?<![${MARKS}])(?<mark>[${MARKS}]+)[${CLOSING}]*(?<space>\\s+)|(?<line>[${BREAKS}]\\s*)`, "gu");
const NEXT = new RegExp(`^[\\s${OPENING}]*(\\p{Ll})`, "u"), BULLET = /^[-–—•*]\s/u;
const LETTERS = /^(?:\p{L}{1,2}\.)+\p{L}{1,2}$/u, INITIAL = /^[\p{Lu}\p{Ll}]$/u, ORDINAL = /^\p{Nd}{1,2}$/u;

export const ABBREVIATIONS = new Set((
  "mr mrs ms dr prof rev hon st jr sr gen capt lt sgt gov sen vs etc nos vol vols fig figs eq ch sec eds pp inc ltd co corp dept approx "
  + "jan feb mar apr jun jul aug sep sept oct nov dec tue wed thu fri ave blvd mt cf viz resp "
  + "abs abschn anm aufl bd bez bzgl bzw ca dgl dipl ebd etw evtl ff geb gegr ggf hr hrsg ing inkl jh kap max min mind mio mrd nr okt dez sog std str tel usf usw vgl zit zzgl zt "
  + "mm mme mmes mlle mlles chap env janv févr avr juil déc éd tél sra sres srta srtas dra ud uds vd vds pág págs núm aprox "
  + "sig sigg dott avv gent geom pag ecc exmo exma sto sta av dhr mevr mw drs blz bijv enz zgn kl mv osv pga tex dvs bla f.eks "
  + "np ul ww zob tzw tzn mgr inż godz św tj čís např tzv mj obr гг ул стр см тыс млн млрд руб коп им проф акад рис гл ст др пр"
).split(" "));

/** The sentences of a text, each with the white space behind it. */
export function sentences(text) {
  const ends = [...text.matchAll(END)].filter(end => cuts(text, end)).map(end => end.index + end[0].length);
  const places = [0, ...ends.filter(end => end > 0 && end < text.length), text.length];
  return places.slice(1).map((end, i) => text.slice(places[i], end)).filter(part => part);
}

/** The parts of a text: {before, original, text, after, start}, where `text` is a sentence without the white space around it.
    Line breaks within a sentence become spaces, so that places in it stay the same. */
export function partsOf(text) {
  let start = 0;
  return sentences(text).map(piece => {
    const core = piece.trim(), lead = core ? piece.length - piece.trimStart().length : piece.length;
    const part = { before: piece.slice(0, lead), original: core, text: core.replace(/[\n\r\x0b\x0c\x85\u2028\u2029]/gu, " "), after: piece.slice(lead + core.length), start: start + lead };
    start += piece.length;
    return part;
  });
}

function cuts(text, end) {
  const { wide, mark, space, line } = end.groups, after = end.index + end[0].length;
  if (wide) return true;
  if (line) return breaks(line) > 1 || BULLET.test(text.slice(after, after + 2)) || !goesOn(text, after);
  return breaks(space) > 1 || (!goesOn(text, after) && (mark !== "." || !abbreviated(text.slice(Math.max(0, end.index - 40), end.index))));
}

const goesOn = (text, place) => NEXT.test(text.slice(place, place + 60));
const breaks = space => space.replaceAll("\r\n", "\n").match(/[\n\r\x0b\x0c\x85\u2028\u2029]/gu)?.length ?? 0;

/** Whether a full stop after this belongs to the word before it: an initial, an ordinal, an abbreviation. */
function abbreviated(before) {
  const word = before.match(/(\S+)$/u)?.[1].replace(/^["'“‘„‚«‹([{¿¡]+/u, "");
  return word !== undefined && (INITIAL.test(word) || ORDINAL.test(word) || LETTERS.test(word) || ABBREVIATIONS.has(word.toLowerCase()));
}
