// The options of a multiple choice question, lettered from A.

import { byId, el } from './dom.js';
import { say, sayAttribute } from './strings.js';

const MOST = 26;

let rows;
let add;

/** The options that are filled in. */
export function options() {
  return fields().map(({ value }) => value.trim()).filter(Boolean);
}

export function setOptions(texts) {
  rows.replaceChildren();
  for (const text of texts.slice(0, MOST)) addRow(text);
  renumber();
}

export function startOptions() {
  rows = el('ol', { class: 'option-rows' });
  add = el('button', { type: 'button', id: 'add-option', class: 'quiet', say: 'options.add' });
  add.addEventListener('click', () => {
    // One option is no choice.
    do addRow(''); while (fields().length < 2);
    renumber();
    (fields().find(({ value }) => !value) ?? fields().at(-1)).focus();
  });
  byId('options-panel').append(el('p', { class: 'aside', say: 'options.help' }), rows, add);
  renumber();
}

const fields = () => [...rows.querySelectorAll('input')];

function addRow(text) {
  const field = el('input', { type: 'text', maxlength: 2000, autocomplete: 'off', dir: 'auto' });
  field.value = text;
  field.addEventListener('input', showDial);
  field.addEventListener('paste', spread);
  const remove = el('button', { type: 'button', class: 'quiet remove' }, '×');
  remove.addEventListener('click', () => {
    const next = remove.parentElement.nextElementSibling ?? remove.parentElement.previousElementSibling;
    remove.parentElement.remove();
    renumber();
    (next?.querySelector('input') ?? add).focus();
  });
  rows.append(el('li', {}, el('span', { class: 'letter', 'aria-hidden': 'true' }), field, remove));
}

// Several lines that are pasted are several options; their own letters go.
function spread(event) {
  const lines = event.clipboardData.getData('text').split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  if (lines.length < 2) return;
  event.preventDefault();
  const texts = lines.map((line) => line.replace(/^\(?[A-Z][.):、．]\s*/, ''));
  event.target.value = texts[0];
  const rest = fields().slice(fields().indexOf(event.target) + 1).filter(({ value }) => !value);
  for (const text of texts.slice(1)) {
    const empty = rest.shift();
    if (empty) empty.value = text;
    else if (fields().length < MOST) addRow(text);
  }
  renumber();
}

function renumber() {
  [...rows.children].forEach((row, place) => {
    const letter = String.fromCharCode(65 + place);
    row.querySelector('.letter').textContent = letter;
    label(row.querySelector('input'), 'options.option', letter);
    label(row.querySelector('.remove'), 'options.remove', letter);
  });
  add.hidden = fields().length >= MOST;
  showDial();
}

function label(node, key, letter) {
  sayAttribute(node, 'aria-label', key, { letter });
}

function showDial() {
  const n = options().length;
  const dial = byId('options-dial');
  if (n) say(dial, 'options.some', { n });
  else say(dial, 'options.none');
  dial.classList.toggle('set', n > 0);
}
