// What the page says, in the language one chose. A node remembers its string
// by key, so that a change of language changes every node where it stands.

import { en } from './strings-en.js';
import { zh } from './strings-zh.js';

const tongues = { en, zh };
const values = new WeakMap();
const attributes = { 'aria-label': 'sayLabel', placeholder: 'sayPlaceholder', title: 'sayHint' };

let tongue = chosen() ?? (navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en');

export const language = () => tongue;

/** A string with its values in place. `one|many` is chosen by the value n. */
export function t(key, given) {
  const whole = tongues[tongue][key];
  if (whole === undefined) throw new Error(`no string ${key}`);
  given = fresh(given);
  const [one, many] = whole.split('|');
  const form = many === undefined || given.n === 1 ? one : many;
  return form.replace(/\{(\w+)\}/g, (_, name) => shown(given[name]));
}

function shown(value) {
  return typeof value === 'number' ? number(value) : String(value ?? '');
}

export function number(value, digits = 0) {
  return new Intl.NumberFormat(tongue, { maximumFractionDigits: digits }).format(value);
}

export function decimal(value, digits) {
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(tongue, form).format(value);
}

export function bytes(value) {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
  let step = 0;
  for (; value >= 1000 && step < units.length - 1; step += 1) value /= 1000;
  const form = { style: 'unit', unit: units[step], unitDisplay: 'short', maximumFractionDigits: 1 };
  return new Intl.NumberFormat(tongue, form).format(value);
}

export function date(text) {
  const form = { dateStyle: 'medium', timeStyle: 'short' };
  return new Intl.DateTimeFormat(tongue, form).format(new Date(text));
}

/** Puts a string into a node, now and after each change of language. */
export function say(node, key, given) {
  node.dataset.say = key;
  remember(node, 'say', given);
  node.textContent = t(key, given);
}

/** The same for what a node is called, hints at, or shows while empty. */
export function sayAttribute(node, attribute, key, given) {
  node.dataset[attributes[attribute]] = key;
  remember(node, attribute, given);
  node.setAttribute(attribute, t(key, given));
}

function remember(node, what, given) {
  const known = values.get(node) ?? {};
  known[what] = given;
  values.set(node, known);
}

/** Says every string on the page again. */
export function sayAll() {
  document.documentElement.lang = tongue === 'zh' ? 'zh-CN' : 'en';
  for (const node of document.querySelectorAll('[data-say]')) {
    node.textContent = t(node.dataset.say, values.get(node)?.say);
  }
  for (const [attribute, kept] of Object.entries(attributes)) {
    const name = kept.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    for (const node of document.querySelectorAll(`[data-${name}]`)) {
      node.setAttribute(attribute, t(node.dataset[kept], values.get(node)?.[attribute]));
    }
  }
}

// Values that read differently in another language are given as functions.
function fresh(given) {
  return (typeof given === 'function' ? given() : given) ?? {};
}

export function speak(other) {
  tongue = other;
  try {
    localStorage.setItem('quire.language', other);
  } catch {
    // Without storage the choice holds until the page is closed.
  }
  sayAll();
}

function chosen() {
  try {
    const kept = localStorage.getItem('quire.language');
    return kept in tongues ? kept : undefined;
  } catch {
    return undefined;
  }
}
