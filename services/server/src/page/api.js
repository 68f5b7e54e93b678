// The service, asked. Every failure becomes a Trouble with a problem document.

import { t } from './strings.js';

const KEPT = 'quire.key';

let keyDialog = async () => null;

/** How a key is asked for: a function that resolves to one, or to null. */
export function askForKeysWith(dialog) {
  keyDialog = dialog;
}

export const key = {
  get: () => sessionStorage.getItem(KEPT),
  set: (secret) => sessionStorage.setItem(KEPT, secret),
  forget: () => sessionStorage.removeItem(KEPT),
};

/** Something went wrong; `problem` is a problem document. */
export class Trouble extends Error {
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** The trouble of a service that cannot be reached. */
export function unreachable() {
  return new Trouble({
    title: t('unreachable.title'),
    detail: t('unreachable.detail'),
    remedy: t('unreachable.remedy'),
    code: 'unreachable',
  });
}

export function authorization() {
  const secret = key.get();
  return secret ? { authorization: `Bearer ${secret}` } : {};
}

/**
 * An answer of the service. A key is asked for where one is needed, and the
 * request is then sent again.
 */
export async function ask(path, { method = 'GET', json, signal } = {}) {
  const body = json === undefined ? undefined : JSON.stringify(json);
  for (;;) {
    const headers = authorization();
    if (body !== undefined) headers['content-type'] = 'application/json';
    let response;
    try {
      response = await fetch(path, { method, headers, body, signal, credentials: 'omit' });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw unreachable();
    }
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (response.status === 401 && await keyDialog(problem)) continue;
    throw new Trouble(problem);
  }
}

/** Asks for a key; whether one was given. */
export const needsKey = (problem) => keyDialog(problem);

export const read = async (path, options) => (await ask(path, options)).json();

async function problemOf(response) {
  try {
    return documentOf(response.status, await response.text());
  } catch {
    return documentOf(response.status, '');
  }
}

/** The problem document in a refusal's body, or one that says its status. */
export function documentOf(status, text) {
  try {
    const problem = JSON.parse(text);
    if (problem.detail) return problem;
  } catch {
    // A proxy's page, say.
  }
  return { title: t('odd.title'), detail: t('odd.detail', { status }), remedy: t('odd.remedy'), status };
}

/** Server-sent events of a response, each as {name, data}, data parsed. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replaceAll('\r\n', '\n').split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const event = eventOf(block);
        if (event) yield event;
      }
    }
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw unreachable();
  } finally {
    reader.cancel().catch(() => {});
  }
}

function eventOf(block) {
  let name = 'message';
  const data = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) name = line.slice(6).trim();
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return data.length ? { name, data: JSON.parse(data.join('\n')) } : null;
}
