// Elements, made of names and text. Nothing here reads markup: what comes from
// a book or from the service enters the page as text and in no other way.

import { say, sayAttribute } from './strings.js';

const SVG = 'http://www.w3.org/2000/svg';

export const byId = (id) => document.getElementById(id);

/**
 * An element. Of the attributes, `say` and `label` are keys of strings (or
 * [key, values]), functions named `on…` listen, booleans stand or fall.
 */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'say') say(node, ...[value].flat());
    else if (name === 'label') sayAttribute(node, 'aria-label', ...[value].flat());
    else if (name === 'hint') sayAttribute(node, 'title', ...[value].flat());
    else if (typeof value === 'function') node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Says something to those who hear the page instead of seeing it. */
export function announce(key, values) {
  say(byId('announcer'), key, values);
}

/** A button that copies a text. Without a clipboard it selects what it shows. */
export function copyButton(text, label, shown) {
  const button = el('button', { type: 'button', class: 'copy', hint: label }, shown);
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      announce('copied');
      button.classList.add('done');
      setTimeout(() => button.classList.remove('done'), 1200);
    } catch {
      getSelection().selectAllChildren(shown instanceof Node ? shown : button);
    }
  });
  return button;
}

const CJK = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/gu;

/** The language a text is plainly in, for its fonts and for speech; else ''. */
export function languageOf(text) {
  const sample = text.slice(0, 400);
  return (sample.match(CJK) ?? []).length > sample.length / 5 ? 'zh' : '';
}

/** Opens a dialog; what had the focus has it again once it is closed. */
export function openDialog(dialog) {
  const before = document.activeElement;
  dialog.showModal();
  const back = () => before?.isConnected && before.focus({ preventScroll: true });
  dialog.addEventListener('close', back, { once: true });
}
