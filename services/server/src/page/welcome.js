// What one sees before the first question: what this is, and a way to begin.

import { byId, el } from './dom.js';
import { library, watchLibrary } from './library.js';

export function startWelcome() {
  watchLibrary(() => {
    const { books, isKnown } = library;
    if (!isKnown) return;
    byId('welcome').replaceChildren(...(books.length ? ready() : empty()));
  });
}

function empty() {
  return [el('div', { class: 'empty' },
    el('h2', { say: 'welcome.empty.title' }),
    el('p', { say: 'welcome.empty.text' }),
    el('p', {}, el('a', { class: 'primary button', href: '#view=books', say: 'welcome.empty.link' })))];
}

function ready() {
  const steps = ['find', 'weigh', 'answer'].map((step) => el('li', {},
    el('strong', { say: `welcome.${step}` }), el('span', { say: `welcome.${step}.text` })));
  return [el('ol', { class: 'steps' }, ...steps)];
}
