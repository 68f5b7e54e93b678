// Text of books: byte spans, and lines as a reader wants them.
//
// The service counts UTF-8 bytes, JavaScript counts UTF-16 units. A node made
// here holds its text unchanged, to the last line break, so that what one
// copies or compares is the book's.

/** Where byte offsets lie in a string: a map from offset to UTF-16 unit. */
export function units(text, offsets) {
  const wanted = [...new Set(offsets)].sort((a, b) => a - b);
  const found = new Map();
  let at = 0;
  let byte = 0;
  for (const offset of wanted) {
    while (byte < offset && at < text.length) {
      const point = text.codePointAt(at);
      byte += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      at += point < 0x10000 ? 1 : 2;
    }
    found.set(offset, at);
  }
  return found;
}

/**
 * A fragment of a text with spans of it in elements. Each layer is
 * {spans: [{start, end}], make: (span) => element}, in bytes, the outermost
 * first; spans of one layer ascend and do not overlap.
 */
export function painted(text, layers) {
  const offsets = layers.flatMap(({ spans }) => spans.flatMap(({ start, end }) => [start, end]));
  const at = units(text, offsets);
  const inUnits = layers.map(({ spans, make }) => ({
    make,
    spans: spans.map((span) => ({ span, start: at.get(span.start), end: at.get(span.end) })),
  }));
  const fragment = document.createDocumentFragment();
  paint(fragment, text, breaks(text), inUnits, 0, text.length);
  return fragment;
}

function paint(into, text, runs, [layer, ...inner], from, to) {
  if (!layer) return leaf(into, text, runs, from, to);
  let at = from;
  for (const { span, start, end } of layer.spans) {
    const [first, last] = [Math.max(start, at), Math.min(end, to)];
    if (first >= last) continue;
    paint(into, text, runs, inner, at, first);
    const element = layer.make(span);
    paint(element, text, runs, inner, first, last);
    into.append(element);
    at = last;
  }
  if (at < to) paint(into, text, runs, inner, at, to);
}

// White space is collapsed when shown, so a break needs an element; the line
// feeds themselves stay in the text.
function leaf(into, text, runs, from, to) {
  let at = from;
  for (const { start, end, kind } of runs) {
    if (start < from || start >= to || kind === 'soft') continue;
    into.append(text.slice(at, start));
    const stop = Math.min(end, to);
    const element = document.createElement(kind === 'line' ? 'br' : 'span');
    if (kind === 'paragraph') element.className = 'paragraph';
    if (kind === 'joined') {
      element.hidden = true;
      element.append(text.slice(start, stop));
      into.append(element);
    } else {
      into.append(element, text.slice(start, stop));
    }
    at = stop;
  }
  if (at < to) into.append(text.slice(at, to));
}

/** Columns a line takes on a screen: a Chinese character takes two. */
function columns(line) {
  let count = 0;
  for (const letter of line) count += letter >= '\u2e80' ? 2 : 1;
  return count;
}

/**
 * The line breaks of a text by kind: `paragraph` (an empty line), `line` (meant
 * to be seen), `soft` (a printed line was full; prose goes on) and `joined`
 * (the same between two Chinese characters, where no space belongs).
 */
export function breaks(text) {
  const longest = Math.max(...text.split('\n').map(columns));
  const isWrapped = longest >= 45 && longest <= 100;
  const found = [];
  for (const run of text.matchAll(/[^\S\u3000]*\n(?:[^\S\u3000]*\n)*[^\S\u3000]*/g)) {
    const [start, end] = [run.index, run.index + run[0].length];
    found.push({ start, end, kind: kindOf(text, run[0], start, end, isWrapped && longest) });
  }
  return found;
}

function kindOf(text, run, start, end, width) {
  if (run.indexOf('\n') !== run.lastIndexOf('\n')) return 'paragraph';
  const line = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
  const isIndented = /\n\s/.test(run) || text[end] === '\u3000';
  // The last line of a paragraph is short, and so are lines of verse.
  if (!width || isIndented || columns(line) < width * 0.6) return 'line';
  return text[start - 1] >= '\u2e80' && text[end] >= '\u2e80' ? 'joined' : 'soft';
}
