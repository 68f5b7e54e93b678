// A problem, shown where it arose.

import { copyButton, el } from './dom.js';
import { Trouble } from './api.js';

/**
 * A problem document as an element. Its sentences come from the service, in
 * English.
 */
export function problemCard({ title, detail, remedy, code, request_id: request }) {
  const facts = el('p', { class: 'facts-line' });
  if (code) facts.append(el('code', {}, code));
  if (request) {
    facts.append(' ', el('span', { say: 'problem.request' }), ' ');
    facts.append(copyButton(request, 'copy', el('code', {}, request)));
  }
  return el('div', { class: 'problem', role: 'alert' },
    el('p', { class: 'problem-title' }, title ?? ''),
    el('p', {}, detail ?? ''),
    remedy ? el('p', {}, el('strong', { say: 'problem.remedy' }), ' ', remedy) : null,
    facts.childNodes.length ? facts : null);
}

/** Shows an error in a place for it; anything but a Trouble is a defect. */
export function showProblem(place, error) {
  if (!(error instanceof Trouble)) throw error;
  place.replaceChildren(problemCard(error.problem));
}
