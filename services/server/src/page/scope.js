// Which books are asked: all, or those that are ticked.

import { byId, el } from './dom.js';
import { library, titleOf, watchLibrary } from './library.js';
import { say, sayAttribute } from './strings.js';

/** More books than these are searched by name. */
const FEW = 6;

const chosen = new Set();
let list;
let search;

export const chosenBooks = () => [...chosen];

export function chooseBooks(ids) {
  chosen.clear();
  for (const id of ids) chosen.add(id);
  showBooks();
}

export function startScope() {
  search = el('input', {
    type: 'search', id: 'scope-search', label: 'scope.search', oninput: showBooks, autocomplete: 'off',
  });
  list = el('ul', { class: 'scope-list' });
  const all = el('button', { type: 'button', class: 'quiet', say: 'scope.clear', onclick: () => chooseBooks([]) });
  byId('scope-panel').append(search, list, all);
  // Enter in the search field is not yet the question's.
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') event.preventDefault();
  });
  watchLibrary(() => {
    if (library.isKnown) {
      for (const id of chosen) if (!library.books.some(({ book }) => book === id)) chosen.delete(id);
    }
    showBooks();
  });
}

function showBooks() {
  const { books } = library;
  search.hidden = books.length <= FEW;
  const asked = search.hidden ? '' : search.value.trim().toLowerCase();
  const shown = books.filter(({ book, title }) =>
    title.toLowerCase().includes(asked) || (asked.length > 3 && book.startsWith(asked)));
  list.replaceChildren(...shown.map(row));
  if (!shown.length) list.append(el('li', { class: 'aside', say: books.length ? 'scope.none' : 'books.none' }));
  showDial();
}

function row({ book, title, passages }) {
  const box = el('input', { type: 'checkbox', value: book });
  box.checked = chosen.has(book);
  box.addEventListener('change', () => {
    if (box.checked) chosen.add(book);
    else chosen.delete(book);
    showDial();
  });
  return el('li', {}, el('label', {}, box, el('span', { class: 'book-title' }, title),
    el('span', { class: 'aside', say: ['n.passages', { n: passages }] })));
}

function showDial() {
  const dial = byId('scope-dial');
  if (chosen.size === 0) say(dial, 'scope.all');
  else if (chosen.size === 1) say(dial, 'scope.one', { title: titleOf([...chosen][0]) });
  else say(dial, 'scope.some', { n: chosen.size });
  dial.classList.toggle('set', chosen.size > 0);
  sayAttribute(dial, 'title', 'scope.legend');
}
