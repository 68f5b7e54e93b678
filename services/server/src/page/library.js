// The books and libraries there are, as the rest of the page knows them.

import { read } from './api.js';

const watchers = [];

export const library = { books: [], damaged: [], libraries: [], isKnown: false };

/** Calls `watcher` now and whenever the books or libraries have changed. */
export function watchLibrary(watcher) {
  watchers.push(watcher);
  watcher();
}

export async function refreshLibrary() {
  const [{ books, damaged }, { libraries }] = await Promise.all([read('/v1/books'), read('/v1/libraries')]);
  books.sort((a, b) => a.title.localeCompare(b.title));
  Object.assign(library, { books, damaged, libraries, isKnown: true });
  for (const watcher of watchers) watcher();
}

export const titleOf = (id) => library.books.find(({ book }) => book === id)?.title ?? id.slice(0, 12);
