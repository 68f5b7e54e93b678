// Reading on: a passage in its chapter, and the book before and after it.

import { read } from './api.js';
import { announce, byId, el, languageOf, openDialog } from './dom.js';
import { showProblem } from './problem.js';
import { say } from './strings.js';
import { painted } from './text.js';

/** Passages asked for on each side; the service allows ten. */
const REACH = 5;

let state;

/** Opens the reader at a passage, `BOOK:NUMBER`. */
export async function openReader(chunk) {
  const [book, number] = chunk.split(':');
  state = { book, here: Number(number), first: null, last: null, of: 0, isLoading: false };
  build();
  const dialog = byId('reader');
  if (!dialog.open) openDialog(dialog);
  await load(state.here, (passages) => {
    byId('reader-text').replaceChildren(...passages.map(passageNode));
    headings();
    byId('reader-text').querySelector('.here')?.scrollIntoView({ block: 'center' });
  });
  byId('reader-scroll').focus({ preventScroll: true });
}

function build() {
  const dialog = byId('reader');
  const scroll = el('div', { id: 'reader-scroll', tabindex: 0, role: 'region', label: 'reader.text' },
    el('button', { type: 'button', id: 'reader-earlier', class: 'quiet more', say: 'reader.earlier', hidden: true, onclick: earlier }),
    el('div', { id: 'reader-problem' }),
    el('div', { id: 'reader-text', class: 'book-text', dir: 'auto' }),
    el('button', { type: 'button', id: 'reader-later', class: 'quiet more', say: 'reader.later', hidden: true, onclick: later }));
  dialog.replaceChildren(
    el('header', {},
      el('div', { class: 'reader-place' },
        el('h2', { id: 'reader-title' }, el('span', { say: 'reader.loading' })),
        el('p', { id: 'reader-chapter', class: 'aside' })),
      el('button', { type: 'button', id: 'reader-back', class: 'quiet', say: 'reader.back', onclick: toPassage }),
      el('button', { type: 'button', id: 'reader-close', class: 'quiet', say: 'close', onclick: () => dialog.close() })),
    scroll);
  // A press beside the pane closes it.
  dialog.onpointerdown = (event) => {
    if (event.target === dialog) dialog.close();
  };
  scroll.addEventListener('scroll', onScroll, { passive: true });
}

async function load(centre, place) {
  const mine = state;
  if (mine.isLoading) return;
  mine.isLoading = true;
  byId('reader-scroll').setAttribute('aria-busy', 'true');
  try {
    const around = await read(`/v1/chunks/${mine.book}:${centre}?around=${REACH}`);
    if (mine !== state) return;
    const ordinals = around.passages.map(({ chunk }) => Number(chunk.split(':')[1]));
    const isNew = (ordinal) => mine.first === null || ordinal < mine.first || ordinal > mine.last;
    const fresh = around.passages.filter((_, at) => isNew(ordinals[at]));
    mine.of = around.of;
    mine.title = around.title;
    mine.first = Math.min(mine.first ?? Infinity, ...ordinals);
    mine.last = Math.max(mine.last ?? -1, ...ordinals);
    byId('reader-title').textContent = around.title;
    byId('reader-problem').replaceChildren();
    // What one reads stays where it is.
    const anchor = firstSeen();
    const before = anchor?.getBoundingClientRect().top;
    place(fresh);
    byId('reader-earlier').hidden = mine.first === 0;
    byId('reader-later').hidden = mine.last === mine.of - 1;
    if (anchor?.isConnected) byId('reader-scroll').scrollTop += anchor.getBoundingClientRect().top - before;
    showPlace();
  } catch (error) {
    if (mine === state) showProblem(byId('reader-problem'), error);
  } finally {
    mine.isLoading = false;
    byId('reader-scroll').setAttribute('aria-busy', 'false');
  }
}

async function earlier() {
  if (state.first === 0) return;
  await load(Math.max(state.first - 1 - REACH, 0), (passages) => {
    byId('reader-text').prepend(...passages.map(passageNode));
    headings();
    announce('reader.loaded', { n: passages.length });
  });
}

async function later() {
  if (state.last === state.of - 1) return;
  await load(Math.min(state.last + 1 + REACH, state.of - 1), (passages) => {
    byId('reader-text').append(...passages.map(passageNode));
    headings();
    announce('reader.loaded', { n: passages.length });
  });
}

function onScroll() {
  const { scrollTop, scrollHeight, clientHeight } = byId('reader-scroll');
  showPlace();
  if (scrollTop < 80) earlier();
  else if (scrollHeight - scrollTop - clientHeight < 240) later();
}

function toPassage() {
  byId('reader-text').querySelector('.here')?.scrollIntoView({ block: 'center' });
}

function passageNode({ chunk, chapter, text }) {
  const ordinal = Number(chunk.split(':')[1]);
  const isHere = ordinal === state.here;
  return el(isHere ? 'mark' : 'span', {
    class: isHere ? 'passage here' : 'passage', 'data-chunk': chunk, 'data-chapter': chapter ?? '', lang: languageOf(text),
  }, painted(text, [{ spans: headingOf(text, chapter), make: () => el('span', { class: 'heading' }) }]));
}

// A chapter's heading is a line of the text; in rendered books it begins
// with signs of its depth.
function headingOf(text, chapter) {
  if (!chapter) return [];
  let byte = 0;
  const encoder = new TextEncoder();
  for (const line of text.split('\n')) {
    const length = encoder.encode(line).length;
    if (line.replace(/^#+/, '').trim() === chapter) return [{ start: byte, end: byte + length }];
    byte += length + 1;
  }
  return [];
}

// Only where a chapter begins is its name a heading: it may be said again.
function headings() {
  let before = null;
  for (const node of byId('reader-text').children) {
    const heading = node.querySelector('.heading');
    const begins = node.dataset.chapter !== before;
    heading?.classList.toggle('begins', begins);
    if (heading && begins) {
      heading.setAttribute('role', 'heading');
      heading.setAttribute('aria-level', '3');
    }
    before = node.dataset.chapter;
  }
}

/** The passage at the top of the pane. */
function firstSeen() {
  const top = byId('reader-scroll').getBoundingClientRect().top + 60;
  const nodes = [...byId('reader-text').children];
  return nodes.find((node) => node.getBoundingClientRect().bottom > top) ?? nodes.at(-1);
}

function showPlace() {
  const seen = firstSeen();
  if (!seen) return;
  const number = seen.dataset.chunk.split(':')[1];
  const chapter = seen.dataset.chapter;
  say(byId('reader-chapter'), chapter ? 'reader.place' : 'reader.place-bare', { chapter, number, last: state.of - 1 });
}

/** Opens the reader at a byte of a book's text, such as a chapter's start. */
export async function openReaderAt(book, start, bytes, passages) {
  let [low, high] = [0, passages - 1];
  let guess = Math.min(high, Math.floor((start / bytes) * passages));
  // Passages have about one length, so a look or two is enough.
  while (low <= high) {
    const { passages: found } = await read(`/v1/chunks/${book}:${guess}?around=10`);
    const inside = found.find(({ span }) => span.start <= start && start < span.end);
    if (inside) return openReader(inside.chunk);
    const ordinal = ({ chunk }) => Number(chunk.split(':')[1]);
    if (start < found[0].span.start) high = ordinal(found[0]) - 1;
    else low = ordinal(found.at(-1)) + 1;
    guess = Math.floor((low + high) / 2);
  }
  // Before the first passage, or after the last, lies only what was not cut.
  return openReader(`${book}:${Math.min(low, passages - 1)}`);
}
