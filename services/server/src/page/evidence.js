// The evidence: each item with its text, why it is there, and what was left
// out.

import { byId, el, languageOf } from './dom.js';
import { deepest, ranksTable } from './ranks.js';
import { openReader } from './reader.js';
import { painted } from './text.js';

let items = [];
let lastRank = 2;

export function hideEvidence() {
  items = [];
  byId('evidence').replaceChildren();
  byId('ranks').hidden = true;
  byId('shares').hidden = true;
}

export function showEvidence({ evidence, books }) {
  ({ items } = evidence);
  lastRank = deepest(items);
  const passages = items.flatMap((item) => item.passages).length;
  byId('evidence').replaceChildren(
    el('div', { class: 'card-head' },
      el('h2', { id: 'evidence-title', say: 'evidence.title' }),
      el('span', { class: 'aside' }, el('span', { say: ['n.passages', { n: passages }] }), ' · ',
        el('span', { say: ['evidence.books', { n: books.length }] }))),
    ...items.map(article),
    ...(items.length ? [] : [el('p', { class: 'empty', say: evidence.left_out.length ? 'evidence.none-fit' : 'evidence.none' })]),
    ...leftOut(evidence.left_out));
}

/** Marks the cited span, once the answer names it. */
export function cite(citation) {
  const item = citation && items.find(({ number }) => number === citation.evidence);
  if (!item) return;
  byId(`evidence-${item.number}`).querySelector('.item-text').replaceChildren(textOf(item, [citation.span]));
}

/** Shows an item, and its cited words if there are any. */
export function goTo(number, toCited) {
  const node = byId(`evidence-${number}`);
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const target = (toCited && node.querySelector('.cited')) || node;
  node.focus({ preventScroll: true });
  target.scrollIntoView({ behavior: calm ? 'auto' : 'smooth', block: 'center' });
  node.classList.remove('arrived');
  requestAnimationFrame(() => node.classList.add('arrived'));
}

function article(item) {
  const id = `evidence-${item.number}`;
  const text = el('div', { class: 'item-text book-text', lang: languageOf(item.text), dir: 'auto' }, textOf(item, []));
  const cut = item.passages.some(({ truncated }) => truncated.embedding || truncated.rerank);
  return el('article', { id, tabindex: -1, 'aria-labelledby': `${id}-title`, 'data-chunks': item.chunks.join(' ') },
    el('header', {},
      el('h3', { id: `${id}-title` },
        el('span', { class: 'item-number' }, String(item.number)), ' ',
        el('cite', {}, item.title),
        item.chapter ? el('span', { class: 'chapter' }, item.chapter) : null),
      el('span', { class: 'aside', say: ['n.tokens', { n: item.tokens }] })),
    text,
    cut ? el('p', { class: 'note', say: 'evidence.truncated' }) : null,
    ranksTable(item, lastRank, (chunk) => openReader(chunk)));
}

// A passage begins with its number, which is drawn and not part of the text.
function textOf(item, cited) {
  const parts = item.passages.map((passage) => ({ ...passage.span, chunk: passage.chunk }));
  const several = parts.length > 1;
  return painted(item.text, [
    {
      spans: parts,
      make: ({ chunk }) => el('span', { class: several ? 'part numbered' : 'part', 'data-number': chunk.split(':')[1] }),
    },
    { spans: cited, make: () => el('mark', { class: 'cited' }) },
    { spans: item.highlights, make: () => el('mark', { class: 'term' }) },
  ]);
}

function leftOut(passages) {
  if (!passages.length) return [];
  const list = el('ul', {}, ...passages.map(({ chunk, reason }) => el('li', {},
    el('button', {
      type: 'button', class: 'link', say: ['evidence.passage', { number: chunk.split(':')[1] }],
      onclick: () => openReader(chunk),
    }),
    ' ', el('span', { class: 'aside', say: `left-out.${reason}` }))));
  return [el('details', { class: 'left-out' },
    el('summary', { say: ['evidence.left-out', { n: passages.length }] }), list)];
}
