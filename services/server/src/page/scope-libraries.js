// Libraries as what is asked: chosen, made of the books that are ticked,
// removed.

import { ask } from './api.js';
import { announce, byId, el } from './dom.js';
import { library, refreshLibrary } from './library.js';
import { showProblem } from './problem.js';

/** Rows of the libraries; `choose` is called with the one that is picked. */
export function libraryRows(chosen, choose) {
  return library.libraries.map(({ name, books, passages }) => {
    const button = el('input', { type: 'radio', name: 'library', value: name });
    button.checked = name === chosen;
    button.addEventListener('change', () => choose(name));
    return el('li', { 'data-library': name },
      el('label', {}, button, el('span', { class: 'book-title' }, name),
        el('span', { class: 'aside' }, el('span', { say: ['scope.some', { n: books }] }), ' · ',
          el('span', { say: ['n.passages', { n: passages }] }))),
      el('button', {
        type: 'button', class: 'quiet', say: 'libraries.delete', label: ['libraries.delete.label', { name }],
        onclick: () => remove(name, chosen, choose),
      }));
  });
}

/** The field that makes a library of books. `made` is called with its name. */
export function libraryMaker(books, made) {
  const name = el('input', { type: 'text', id: 'library-name', label: 'libraries.name', maxlength: 64, autocomplete: 'off' });
  const button = el('button', { type: 'button', id: 'library-make', say: 'libraries.make' });
  const make = async () => {
    if (!name.value.trim()) {
      name.focus();
      return;
    }
    button.disabled = true;
    try {
      const created = await (await ask('/v1/libraries', {
        method: 'POST', json: { name: name.value.trim(), books: books() },
      })).json();
      name.value = '';
      made(created.name);
      announce('libraries.made', { name: created.name });
      await settled();
    } catch (error) {
      showProblem(byId('ask-problem'), error);
    } finally {
      button.disabled = false;
    }
  };
  button.addEventListener('click', make);
  // Enter here is not yet the question's.
  name.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    make();
  });
  return el('div', { class: 'library-maker' }, name, button);
}

async function remove(name, chosen, choose) {
  try {
    await ask(`/v1/libraries/${encodeURIComponent(name)}`, { method: 'DELETE' });
    if (chosen === name) choose(null);
    announce('libraries.deleted', { name });
    await settled();
  } catch (error) {
    showProblem(byId('ask-problem'), error);
  }
}

async function settled() {
  byId('ask-problem').replaceChildren();
  await refreshLibrary();
}
