// Books uploaded: the transfer, then the indexing, each as it gets on.

import { Trouble, ask, authorization, documentOf, events, needsKey, read, unreachable } from './api.js';
import { refreshBooks } from './books.js';
import { announce, byId, el } from './dom.js';
import { problemCard, showProblem } from './problem.js';
import { openReader } from './reader.js';
import { chooseBooks } from './scope.js';
import { bytes, number, say } from './strings.js';

const cards = new Map();

export function startUpload(toBooks) {
  const field = byId('files');
  field.addEventListener('change', () => {
    if (field.files.length) upload([...field.files]);
    field.value = '';
  });
  const drop = byId('drop');
  const hasFiles = (event) => [...event.dataTransfer.types].includes('Files');
  // A file dropped beside the place for it would replace the page.
  addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.classList.add('over');
  });
  addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) drop.classList.remove('over');
  });
  addEventListener('drop', (event) => {
    drop.classList.remove('over');
    if (!hasFiles(event)) return;
    event.preventDefault();
    toBooks();
    upload([...event.dataTransfer.files]);
  });
}

/** Follows the jobs that run already, as after the page was loaded anew. */
export async function followRunning() {
  const { jobs } = await read('/v1/jobs');
  for (const job of jobs) {
    if ((job.state === 'waiting' || job.state === 'running') && !cards.has(job.id)) {
      follow(job, card(job.files.map(({ name }) => name)));
    }
  }
}

async function upload(files) {
  const place = card(files.map(({ name }) => name));
  const transfer = new AbortController();
  place.cancel.addEventListener('click', () => transfer.abort());
  try {
    const job = await send(files, place, transfer.signal);
    place.cancel.remove();
    await follow(job, place);
  } catch (error) {
    fail(place, error);
  }
}

// fetch does not tell how much of a body has gone out.
async function send(files, place, signal) {
  const form = new FormData();
  for (const file of files) form.append('book', file, file.name);
  for (;;) {
    const { status, text } = await new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open('POST', '/v1/books');
      for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
      request.upload.addEventListener('progress', ({ loaded, total }) => {
        bar(place, loaded, total);
        say(place.state, 'upload.sending', () => ({ done: bytes(loaded), total: bytes(total) }));
      });
      request.addEventListener('load', () => resolve({ status: request.status, text: request.responseText }));
      request.addEventListener('error', () => reject(unreachable()));
      request.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      signal.addEventListener('abort', () => request.abort());
      request.send(form);
    });
    if (status === 202) return JSON.parse(text);
    const problem = documentOf(status, text);
    if (status === 401 && await needsKey(problem)) continue;
    throw new Trouble(problem);
  }
}

async function follow(job, place) {
  cards.set(job.id, place);
  place.node.dataset.job = job.id;
  show(job, place);
  try {
    for await (const { name, data } of events(await ask(`/v1/jobs/${job.id}/events`))) {
      show(data, place);
      if (name === 'finished') {
        await finish(data, place);
        return;
      }
    }
    // The service let go of its followers: its word on the job is asked once.
    const last = await read(`/v1/jobs/${job.id}`);
    show(last, place);
    if (last.finished) await finish(last, place);
  } catch (error) {
    fail(place, error);
  }
}

function card(names) {
  const title = names.length > 1 ? `${names[0]} + ${names.length - 1}` : names[0];
  const place = {
    node: el('section', { class: 'job', 'aria-label': title }),
    bar: el('progress', { max: 1, label: ['upload.progress', { name: title }] }),
    state: el('p', { class: 'job-state', say: 'upload.starting' }),
    cancel: el('button', { type: 'button', class: 'quiet', say: 'cancel', label: ['upload.cancel', { name: title }] }),
    outcome: el('div', { class: 'job-outcome' }),
  };
  place.node.append(el('div', { class: 'job-head' }, el('h2', {}, title), place.cancel), place.bar, place.state, place.outcome);
  byId('jobs').prepend(place.node);
  return place;
}

function bar(place, done, total) {
  if (total > 0) place.bar.value = done / total;
  else place.bar.removeAttribute('value');
}

function show({ state, progress, files }, place) {
  if (state === 'waiting') {
    bar(place, 0, 0);
    say(place.state, 'upload.waiting');
  } else if (state === 'running' && progress) {
    const { tokens_done: done, tokens_total: total, tokens_per_second: rate, eta_seconds: left } = progress;
    bar(place, done, total);
    const source = progress.source ?? files[0].name;
    if (!total) say(place.state, 'upload.reading', { source });
    else if (left === null || rate === null) say(place.state, 'upload.begun', { source, done, total });
    else say(place.state, 'upload.indexing', () => ({ source, done, total, rate: Math.round(rate), left: number(Math.max(1, left)) }));
  }
}

async function finish(job, place) {
  place.bar.remove();
  place.cancel.remove();
  place.node.classList.add(job.state);
  say(place.state, `upload.${job.state}`);
  await refreshBooks();
  place.outcome.replaceChildren(...job.books.map(outcome));
  if (job.problem) place.outcome.append(problemCard({ detail: job.problem.error, remedy: job.problem.remedy }));
  announce(`upload.${job.state}`);
}

function outcome({ source, book, title, outcome: what, passages, problem }) {
  if (problem) return problemCard({ title: source, detail: problem.error, remedy: problem.remedy });
  return el('p', { class: 'job-book' },
    el('span', {}, title ?? source), ' ',
    el('span', { class: 'aside', say: [`outcome.${what}`, { n: passages ?? 0 }] }), ' ',
    el('button', { type: 'button', class: 'quiet', say: 'books.ask', label: ['books.ask.label', { title: title ?? source }], onclick: () => askIt(book) }), ' ',
    el('button', { type: 'button', class: 'quiet', say: 'books.read', label: ['books.read.label', { title: title ?? source }], onclick: () => openReader(`${book}:0`) }));
}

function askIt(book) {
  chooseBooks([book]);
  location.hash = '';
  byId('question').focus();
}

function fail(place, error) {
  place.bar.remove();
  place.cancel.remove();
  if (error.name === 'AbortError') {
    say(place.state, 'upload.cancelled');
    return;
  }
  place.node.classList.add('failed');
  say(place.state, 'upload.failed');
  showProblem(place.outcome, error);
}
