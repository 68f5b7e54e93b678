// What is asked: all books, those that are ticked, or a library.

import { byId, el } from './dom.js';
import { library, titleOf, watchLibrary } from './library.js';
import { libraryMaker, libraryRows } from './scope-libraries.js';
import { say, sayAttribute } from './strings.js';

/** More books than these are searched by name. */
const FEW = 6;

const chosen = new Set();
/** The name of the library that is asked in place of books, or null. */
let chosenLibrary = null;
let libraries;
let list;
let search;
let maker;

/** The scope of a request; undefined for all books. */
export function scope() {
  if (chosenLibrary !== null) return { library: chosenLibrary };
  return chosen.size ? { books: [...chosen] } : undefined;
}

/** What is asked, as members of an address. */
export function scopeInAddress() {
  if (chosenLibrary !== null) return [['library', chosenLibrary]];
  return chosen.size ? [['books', [...chosen].map((book) => book.slice(0, 12)).join(',')]] : [];
}

/** Asks what an address names. */
export function setScope(parameters) {
  const begun = (parameters.get('books') ?? '').split(',').filter(Boolean);
  const whole = (id) => library.books.find(({ book }) => book.startsWith(id))?.book ?? id;
  chosen.clear();
  for (const id of begun.map(whole)) chosen.add(id);
  chosenLibrary = parameters.get('library');
  show();
}

export const chooseBooks = (ids) => choose(ids, null);

function choose(ids, name) {
  chosen.clear();
  for (const id of ids) chosen.add(id);
  chosenLibrary = name;
  show();
}

export function startScope() {
  search = el('input', {
    type: 'search', id: 'scope-search', label: 'scope.search', oninput: show, autocomplete: 'off',
  });
  libraries = el('ul', { class: 'scope-list', id: 'scope-libraries', label: 'libraries.list' });
  list = el('ul', { class: 'scope-list', id: 'scope-books' });
  maker = libraryMaker(() => [...chosen], (name) => choose([], name));
  const all = el('button', { type: 'button', class: 'quiet', say: 'scope.clear', onclick: () => choose([], null) });
  byId('scope-panel').append(libraries, search, list, maker, all);
  // Enter in the search field is not yet the question's.
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') event.preventDefault();
  });
  watchLibrary(() => {
    if (library.isKnown) {
      for (const id of chosen) if (!library.books.some(({ book }) => book === id)) chosen.delete(id);
      if (!library.libraries.some(({ name }) => name === chosenLibrary)) chosenLibrary = null;
    }
    show();
  });
}

function show() {
  const { books } = library;
  libraries.replaceChildren(...libraryRows(chosenLibrary, (name) => choose([], name)));
  libraries.hidden = !library.libraries.length;
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
    // Books are asked in place of a library.
    chosenLibrary = null;
    for (const radio of libraries.querySelectorAll('input')) radio.checked = false;
    showDial();
  });
  return el('li', {}, el('label', {}, box, el('span', { class: 'book-title' }, title),
    el('span', { class: 'aside', say: ['n.passages', { n: passages }] })));
}

function showDial() {
  const dial = byId('scope-dial');
  maker.hidden = chosen.size === 0;
  if (chosenLibrary !== null) say(dial, 'scope.library', { name: chosenLibrary });
  else if (chosen.size === 0) say(dial, 'scope.all');
  else if (chosen.size === 1) say(dial, 'scope.one', { title: titleOf([...chosen][0]) });
  else say(dial, 'scope.some', { n: chosen.size });
  dial.classList.toggle('set', chosen.size > 0 || chosenLibrary !== null);
  sayAttribute(dial, 'title', 'scope.legend');
}
