// The key of a service that asks for one. It stays in this tab's session
// storage and goes nowhere but into requests to this service.

import { askForKeysWith, key } from './api.js';
import { byId, el, openDialog } from './dom.js';

export function startKey() {
  askForKeysWith(askOnce);
  byId('key-button').hidden = !key.get();
  byId('key-button').addEventListener('click', () => askOnce(null));
}

let asking = null;

// Requests that fail together wait for one dialog.
function askOnce(problem) {
  asking ??= askForKey(problem).finally(() => { asking = null; });
  return asking;
}

function askForKey(problem) {
  const dialog = byId('key-dialog');
  byId('key-button').hidden = false;
  const field = el('input', {
    type: 'password', id: 'key-field', autocomplete: 'off', spellcheck: 'false', required: true,
  });
  const form = el('form', { method: 'dialog' },
    el('h2', { id: 'key-title', say: 'key.title' }),
    el('p', { say: 'key.why' }),
    problem && key.get() ? el('p', { class: 'problem', role: 'alert', say: 'key.refused' }) : null,
    el('label', { for: 'key-field', say: 'key.label' }), field,
    el('div', { class: 'dialog-buttons' },
      key.get() ? el('button', { type: 'button', id: 'key-forget', say: 'key.forget' }) : null,
      el('button', { type: 'button', id: 'key-cancel', say: 'cancel' }),
      el('button', { type: 'submit', class: 'primary', say: 'key.use' })));
  dialog.replaceChildren(form);
  openDialog(dialog);
  field.focus();
  return new Promise((resolve) => {
    let given = false;
    form.addEventListener('submit', () => {
      key.set(field.value.trim());
      given = true;
    });
    form.querySelector('#key-cancel').addEventListener('click', () => dialog.close());
    form.querySelector('#key-forget')?.addEventListener('click', () => {
      key.forget();
      dialog.close();
    });
    dialog.addEventListener('close', () => {
      resolve(given);
      if (given) document.dispatchEvent(new Event('key'));
    }, { once: true });
  });
}
