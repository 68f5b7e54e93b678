// Asking: from the form to a stream of events, and to the address bar.

import { Trouble, ask, events } from './api.js';
import * as answer from './answer.js';
import { announce, byId } from './dom.js';
import { cite, hideEvidence, showEvidence } from './evidence.js';
import { options, setOptions, startOptions } from './options.js';
import { showProblem } from './problem.js';
import { showRanks } from './ranks.js';
import { scope, scopeInAddress, setScope, startScope } from './scope.js';
import { setSettings, settings, settingsInAddress, startSettings } from './settings.js';
import { showShares } from './shares.js';
import { showTiming } from './timing.js';

let running = null;
/** The address of what is shown, so that coming back asks nothing again. */
let shown = null;

export function startAsking() {
  startScope();
  startOptions();
  startSettings();
  for (const dial of document.querySelectorAll('.dial')) dial.addEventListener('click', () => toggle(dial));
  const question = byId('question');
  question.addEventListener('input', grow);
  question.addEventListener('keydown', (event) => {
    // An input method takes Enter for itself.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    byId('ask-form').requestSubmit();
  });
  byId('ask-form').addEventListener('submit', (event) => {
    event.preventDefault();
    askNow();
  });
  byId('stop-button').addEventListener('click', stop);
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && running && !document.querySelector('dialog[open]')) stop();
  });
}

/** What the form holds, for the address: `q=…&books=…&library=…&option=…&order=…`. */
export function asParameters() {
  const parameters = new URLSearchParams({ q: byId('question').value.trim() });
  for (const [name, value] of scopeInAddress()) parameters.set(name, value);
  for (const option of options()) parameters.append('option', option);
  for (const [name, value] of settingsInAddress()) parameters.set(name, value);
  return parameters;
}

/** Fills the form from an address and asks. */
export function askFrom(parameters) {
  if (shown === String(parameters)) return;
  byId('question').value = parameters.get('q') ?? '';
  grow();
  setScope(parameters);
  setOptions(parameters.getAll('option'));
  setSettings(parameters);
  if (byId('question').value) run();
}

/** An empty form, as at first; words not yet asked stay. */
export function clear() {
  if (shown === null) return;
  running?.abort();
  shown = null;
  byId('to-ask').href = '#';
  byId('question').value = '';
  setOptions([]);
  grow();
  byId('found').hidden = true;
  byId('welcome').hidden = false;
  byId('ask-problem').replaceChildren();
}

function askNow() {
  if (!byId('question').value.trim()) {
    byId('question').focus();
    return;
  }
  const hash = `#${asParameters()}`;
  if (location.hash !== hash) history.pushState(null, '', hash);
  run();
}

function stop() {
  running?.abort();
  byId('question').focus();
}

async function run() {
  running?.abort();
  const mine = new AbortController();
  running = mine;
  shown = String(new URLSearchParams(location.hash.slice(1)));
  byId('to-ask').href = location.hash;
  const place = byId('ask-problem');
  place.replaceChildren();
  byId('welcome').hidden = true;
  working(true);
  answer.begin();
  hideEvidence();
  announce('answer.finding');
  try {
    const response = await ask('/v1/answer', { method: 'POST', json: requestOf(), signal: mine.signal });
    byId('found').hidden = false;
    await follow(response);
  } catch (error) {
    if (running !== mine) return;
    if (error.name === 'AbortError') {
      answer.stopped();
      announce('answer.stopped');
    } else {
      answer.failed();
      showProblem(place, error);
    }
  } finally {
    if (running === mine) {
      running = null;
      working(false);
    }
  }
}

function requestOf() {
  const request = { question: byId('question').value.trim(), stream: true, ...settings() };
  if (options().length) request.options = options();
  if (scope()) request.scope = scope();
  return request;
}

async function follow(response) {
  for await (const { name, data } of events(response)) {
    if (name === 'evidence') {
      showEvidence(data);
      showRanks(data);
      showShares(data);
      answer.reading(data);
    } else if (name === 'delta') {
      answer.piece(data);
    } else if (name === 'problem') {
      throw new Trouble(data);
    } else if (name === 'answer') {
      answer.finish(data);
      cite(data.answer.citation);
      showTiming(data.run.timings_ms);
      announce('answer.announced', { text: data.answer.option ?? data.answer.text, n: data.evidence.items.length });
      return;
    }
  }
  throw answer.brokenOff();
}

function working(now) {
  const [goes, comes] = now ? ['ask-button', 'stop-button'] : ['stop-button', 'ask-button'];
  const hadFocus = document.activeElement === byId(goes);
  byId(comes).hidden = false;
  byId(goes).hidden = true;
  if (hadFocus) byId(comes).focus();
  byId('ask-view').setAttribute('aria-busy', String(now));
}

function toggle(dial) {
  const panel = byId(dial.getAttribute('aria-controls'));
  panel.hidden = !panel.hidden;
  dial.setAttribute('aria-expanded', String(!panel.hidden));
}

// The field is as high as its text, up to a limit that the style sets.
function grow() {
  const field = byId('question');
  field.style.height = 'auto';
  field.style.height = `${field.scrollHeight + 2}px`;
}
