// The books there are: read, asked, looked into, removed.

import { ask, read } from './api.js';
import { announce, byId, el, languageOf, openDialog } from './dom.js';
import { library, refreshLibrary, watchLibrary } from './library.js';
import { showProblem } from './problem.js';
import { openReader, openReaderAt } from './reader.js';
import { chooseBooks } from './scope.js';
import { bytes, date, say } from './strings.js';

let filter;

export function startBooks() {
  filter = el('input', { type: 'search', id: 'book-filter', label: 'books.filter', oninput: showList, autocomplete: 'off' });
  byId('books').append(
    el('div', { class: 'books-head' }, el('p', { id: 'books-sum', class: 'aside' }), filter),
    el('ul', { id: 'book-list', class: 'book-list' }));
  watchLibrary(show);
}

/** Asks for the books again and shows what came of it. */
export async function refreshBooks() {
  try {
    await refreshLibrary();
    byId('books-problem').replaceChildren();
  } catch (error) {
    showProblem(byId('books-problem'), error);
  }
}

function show() {
  const { books, damaged, isKnown } = library;
  const count = byId('book-count');
  count.hidden = !books.length;
  count.textContent = String(books.length);
  filter.hidden = books.length < 8;
  if (isKnown) {
    const passages = books.reduce((sum, book) => sum + book.passages, 0);
    const tokens = books.reduce((sum, book) => sum + book.tokens, 0);
    if (books.length) say(byId('books-sum'), 'books.sum', { n: books.length, passages, tokens });
    else byId('books-sum').replaceChildren();
  }
  showList();
  byId('book-list').append(...damaged.map(damagedRow));
}

function showList() {
  const asked = filter.hidden ? '' : filter.value.trim().toLowerCase();
  const shown = library.books.filter(({ title }) => title.toLowerCase().includes(asked));
  byId('book-list').replaceChildren(...shown.map(row));
  if (library.isKnown && !library.books.length && !library.damaged.length) {
    byId('book-list').append(el('li', { class: 'empty', say: 'books.none-yet' }));
  }
}

function row(summary) {
  const { book, title, passages, tokens, chapters, indexed } = summary;
  const more = el('div', { class: 'book-more', hidden: true, id: `about-${book}` });
  const about = button('books.about', title, () => toggle(about, more, summary));
  about.setAttribute('aria-expanded', 'false');
  about.setAttribute('aria-controls', more.id);
  return el('li', { 'data-book': book },
    el('div', { class: 'book-row' },
      el('div', { class: 'book-what' },
        el('h2', { lang: languageOf(title) }, title),
        el('p', { class: 'aside' },
          el('span', { say: ['n.passages', { n: passages }] }), ' · ',
          el('span', { say: ['n.tokens', { n: tokens }] }), ' · ',
          el('span', { say: ['n.chapters', { n: chapters }] }), ' · ',
          el('span', { say: ['books.indexed', () => ({ date: date(indexed) })] }))),
      el('div', { class: 'book-buttons' },
        button('books.ask', title, () => askOnly(book)),
        button('books.read', title, () => openReader(`${book}:0`)),
        about,
        button('books.delete', title, () => confirmDelete(book, title)))),
    more);
}

function button(key, title, onclick) {
  return el('button', { type: 'button', class: 'quiet', say: key, label: [`${key}.label`, { title }], onclick });
}

function damagedRow({ book, error, remedy }) {
  return el('li', { class: 'damaged', 'data-book': book },
    el('div', { class: 'book-row' },
      el('div', { class: 'book-what' },
        el('h2', {}, el('code', {}, book.slice(0, 12))), el('p', {}, `${error}: ${remedy}`)),
      el('div', { class: 'book-buttons' }, button('books.delete', book.slice(0, 12), () => confirmDelete(book, book.slice(0, 12))))));
}

function askOnly(book) {
  chooseBooks([book]);
  location.hash = '';
  byId('question').focus();
}

async function toggle(about, more, summary) {
  const opens = more.hidden;
  more.hidden = !opens;
  about.setAttribute('aria-expanded', String(opens));
  if (!opens) return;
  try {
    more.replaceChildren(...described(await read(`/v1/books/${summary.book}`)));
  } catch (error) {
    showProblem(more, error);
  }
}

function described(book) {
  const facts = el('dl', { class: 'facts' });
  const fact = (key, ...shown) => facts.append(el('div', {}, el('dt', { say: key }), el('dd', {}, ...shown)));
  if (book.author) fact('books.author', book.author);
  if (book.format) fact('books.format', [book.format, book.encoding].filter(Boolean).join(', '));
  fact('books.text', el('span', { say: ['books.bytes', () => ({ bytes: bytes(book.text_bytes) })] }));
  fact('books.index', el('span', { say: ['books.bytes', () => ({ bytes: bytes(book.index_bytes) })] }));
  fact('books.id', el('code', {}, book.book.slice(0, 12)));
  const problems = book.problems.map((problem) => el('p', { class: 'note' }, problem));
  const chapters = book.chapter_list.map(({ title, start }) => el('li', { lang: languageOf(title) },
    el('button', { type: 'button', class: 'link', onclick: () => openChapter(book, start) }, title)));
  const list = chapters.length
    ? el('ol', { class: 'chapters', label: 'books.chapters' }, ...chapters)
    : el('p', { class: 'aside', say: 'books.no-chapters' });
  return [facts, ...problems, list];
}

async function openChapter({ book, text_bytes: size, passages }, start) {
  try {
    await openReaderAt(book, start, size, passages);
  } catch (error) {
    showProblem(byId('books-problem'), error);
  }
}

function confirmDelete(book, title) {
  const dialog = byId('confirm');
  const problem = el('div', {});
  const cancel = el('button', { type: 'button', say: 'cancel', onclick: () => dialog.close() });
  const sure = el('button', { type: 'button', class: 'danger', say: 'books.delete-now' });
  sure.addEventListener('click', async () => {
    sure.disabled = true;
    try {
      await ask(`/v1/books/${book}`, { method: 'DELETE' });
      dialog.close();
      announce('books.deleted', { title });
      await refreshBooks();
      byId('books-title').focus();
    } catch (error) {
      sure.disabled = false;
      showProblem(problem, error);
    }
  });
  dialog.replaceChildren(
    el('h2', { id: 'confirm-title', say: ['books.delete-title', { title }] }),
    el('p', { say: 'books.delete-what' }), problem,
    el('div', { class: 'dialog-buttons' }, cancel, sure));
  openDialog(dialog);
  cancel.focus();
}
