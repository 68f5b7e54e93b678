// Settings of a question. What is left empty is as the service has it.

import { byId, el } from './dom.js';
import { say, sayAttribute } from './strings.js';

const NUMBERS = [
  ['rerank', 0, 200],
  ['evidence_passages', 1, 100],
  ['evidence_tokens', 1, 100_000],
];
const CHOICES = [
  ['order', ['document', 'score']],
  ['abstain', ['true', 'false']],
  ['language', ['en', 'zh']],
  ['model', ['extractive', 'openai']],
];

const fields = new Map();

/** The members of a request that are set here. */
export function settings() {
  const request = {};
  const budgets = {};
  for (const [name, field] of fields) {
    if (field.value === '') continue;
    if (field.type === 'number') budgets[name] = field.valueAsNumber;
    else request[name] = name === 'abstain' ? field.value === 'true' : field.value;
  }
  if (Object.keys(budgets).length) request.budgets = budgets;
  return request;
}

/** What is set here, as members of an address. */
export function settingsInAddress() {
  return [...fields].filter(([, field]) => field.value !== '').map(([name, field]) => [name, field.value]);
}

/** Sets what an address names, and nothing else. */
export function setSettings(parameters) {
  for (const [name, field] of fields) field.value = parameters.get(name) ?? '';
  // A choice that is not offered leaves a list without any.
  for (const field of fields.values()) if (field.selectedIndex === -1) field.value = '';
  showDial();
}

export function startSettings() {
  const grid = el('div', { class: 'settings' });
  for (const [name, min, max] of NUMBERS) {
    const field = el('input', { type: 'number', min, max, step: 1, inputmode: 'numeric' });
    place(grid, name, field);
  }
  for (const [name, values] of CHOICES) {
    const choices = ['', ...values].map((value) =>
      el('option', { value, say: value ? `settings.${name}.${value}` : 'settings.default' }));
    place(grid, name, el('select', {}, ...choices));
  }
  const reset = el('button', { type: 'button', class: 'quiet', say: 'settings.reset' });
  reset.addEventListener('click', () => {
    for (const field of fields.values()) field.value = '';
    showDial();
  });
  byId('settings-panel').append(grid, reset);
  showDial();
}

function place(grid, name, field) {
  field.id = `setting-${name}`;
  if (field.type === 'number') sayAttribute(field, 'placeholder', 'settings.default');
  field.addEventListener('input', showDial);
  fields.set(name, field);
  grid.append(el('div', {}, el('label', { for: field.id, say: `settings.${name}` }), field));
}

function showDial() {
  const n = [...fields.values()].filter(({ value }) => value !== '').length;
  const dial = byId('settings-dial');
  if (n) say(dial, 'settings.some', { n });
  else say(dial, 'settings.none');
  dial.classList.toggle('set', n > 0);
}
