// The answer: what is going on, the text as it comes, and at the end what it
// rests on and what it took.

import { Trouble } from './api.js';
import { byId, copyButton, el, languageOf } from './dom.js';
import { goTo } from './evidence.js';
import { number, t } from './strings.js';

/** An answer of more units is set smaller. */
const LONG = 160;

let parts;

/** An empty card, before anything has come. */
export function begin() {
  parts = {
    badges: el('span', { class: 'badges' }),
    status: el('p', { class: 'status' }, el('span', { class: 'dots', 'aria-hidden': 'true' }), el('span', { say: 'answer.finding' })),
    text: el('p', { class: 'answer-text book-text', dir: 'auto' }),
    reasoning: null,
    end: el('div', { class: 'answer-end' }),
  };
  byId('answer').replaceChildren(
    el('div', { class: 'card-head' }, el('h2', { id: 'answer-title', say: 'answer.title' }), parts.badges),
    parts.status, parts.text, parts.end);
  byId('found').hidden = false;
  byId('timing').hidden = true;
}

/** The evidence is there; a model reads it. */
export function reading({ evidence }) {
  status('answer.reading', { n: evidence.items.flatMap(({ passages }) => passages).length });
}

/** A piece of the text, or of what the model thinks before it. */
export function piece({ text, reasoning }) {
  if (reasoning !== undefined) {
    if (!parts.reasoning) {
      parts.reasoning = el('p', { class: 'reasoning-text' });
      parts.text.before(el('details', { class: 'reasoning' }, el('summary', { say: 'answer.reasoning' }), parts.reasoning));
    }
    parts.reasoning.append(reasoning);
  }
  if (text !== undefined) {
    parts.text.append(text);
    parts.text.lang = languageOf(parts.text.textContent);
  }
}

export function stopped() {
  status('answer.stopped');
  parts.status.classList.add('still');
}

export function failed() {
  if (parts.text.textContent) {
    status('answer.incomplete');
    parts.status.classList.add('still');
  } else {
    parts.status.remove();
    byId('found').hidden = !byId('evidence').childElementCount;
    parts.text.replaceChildren(el('span', { class: 'aside', say: 'answer.failed' }));
  }
}

/** The stream ended without an end. */
export function brokenOff() {
  return new Trouble({
    title: t('broken.title'), detail: t('broken.detail'), remedy: t('unreachable.remedy'), code: 'broken_off',
  });
}

function status(key, values) {
  parts.status.lastChild.replaceWith(el('span', { say: [key, values] }));
}

/** The whole answer. */
export function finish({ answer, evidence, run, ...basis }) {
  parts.status.remove();
  parts.text.lang = languageOf(answer.option ?? answer.text);
  if (answer.letter) {
    parts.text.replaceChildren(el('span', { class: 'big-letter' }, answer.letter), ' ', answer.option ?? '');
  } else {
    parts.text.textContent = answer.text;
    parts.text.classList.toggle('long', answer.text.length > LONG);
  }
  parts.badges.replaceChildren(
    answer.extractive
      ? el('span', { class: 'badge', say: 'answer.extractive', hint: 'answer.extractive.hint' })
      : el('span', { class: 'badge' }, answer.model),
    el('span', {
      class: `badge ${answer.supported ? 'good' : 'doubtful'}`,
      say: answer.supported ? 'answer.supported' : 'answer.unsupported',
    }));
  parts.end.replaceChildren(
    ...citation(answer, evidence), ...notes(answer, basis), facts(answer, evidence, basis, run));
}

function citation({ citation: cited, letter }, { items }) {
  const item = cited && items.find(({ number: found }) => found === cited.evidence);
  if (!item) return [];
  const link = el('a', { href: `#evidence-${item.number}`, class: 'citation-link' },
    el('span', { class: 'item-number' }, String(item.number)), ' ', el('cite', {}, item.title),
    item.chapter ? ` · ${item.chapter}` : '');
  link.addEventListener('click', (event) => {
    event.preventDefault();
    goTo(item.number, true);
  });
  return [el('p', { class: 'citation' }, el('span', { say: letter ? 'answer.rests' : 'answer.from' }), ' ', link)];
}

function notes(answer, { question_truncated: cut, left_out: books }) {
  const found = [];
  if (cut) found.push('answer.question-truncated');
  if (answer.finish_reason === 'length') found.push('answer.cut-short');
  const said = found.map((key) => el('p', { class: 'note', say: key }));
  if (books?.length) said.push(el('p', { class: 'note', say: ['answer.books-left-out', { n: books.length }] }));
  return said;
}

function facts(answer, evidence, { rerank }, run) {
  const list = el('dl', { class: 'facts' });
  const fact = (key, ...shown) => list.append(el('div', {}, el('dt', { say: key }), el('dd', {}, ...shown)));
  const { usage, cost } = answer;
  fact('facts.model', answer.model);
  fact('facts.evidence', el('span', { say: ['n.tokens', { n: evidence.tokens }] }));
  if (usage) fact('facts.usage', el('span', { say: ['facts.usage-value', { read: usage.prompt_tokens, written: usage.completion_tokens }] }));
  if (cost) fact('facts.cost', `${number(cost.amount, 6)} ${cost.currency}`);
  if (rerank) {
    fact('facts.rerank', el('span', { say: ['facts.rerank-value', { depth: rerank.depth, wanted: rerank.wanted, n: rerank.wanted }] }), ' ',
      el('span', { class: 'aside', say: `rerank.${rerank.method}` }));
  }
  if (answer.prompt) fact('facts.prompt', `${answer.prompt.name} ${answer.prompt.version}`);
  if (run.trace_id) fact('facts.trace', copyButton(run.trace_id, 'copy', el('code', {}, run.trace_id)));
  fact('facts.link', copyButton(location.href, 'copy', el('span', { say: 'facts.link-value' })));
  return list;
}
