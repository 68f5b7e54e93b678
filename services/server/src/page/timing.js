// Where the time went: a bar of the stages, a key to it, and the numbers.

import { byId, el } from './dom.js';
import { number, t } from './strings.js';

const STAGES = ['queue', 'lexical', 'embed', 'dense', 'fuse', 'rerank', 'assemble', 'answer'];

const millis = (value) => `${number(value, value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;

export function showTiming(timings) {
  const { total } = timings;
  const width = (value) => `${(100 * value) / Math.max(total, 1e-9)}%`;
  const slice = (stage, value) => {
    const part = el('span', { class: `slice ${stage}`, hint: ['timing.slice', () => ({ stage: t(`timing.${stage}`), time: millis(value) })] });
    part.style.width = width(value);
    return part;
  };
  // BM25 runs while the question is embedded: one above the other.
  const together = Math.max(timings.lexical, timings.embed);
  const pair = el('span', { class: 'slice pair' });
  pair.style.width = width(together);
  for (const stage of ['lexical', 'embed']) {
    const lane = el('span', { class: `lane ${stage}` });
    lane.style.width = `${(100 * timings[stage]) / Math.max(together, 1e-9)}%`;
    pair.append(lane);
  }
  const alone = ['dense', 'fuse', 'rerank', 'assemble', 'answer'];
  const rest = total - timings.queue - together - alone.reduce((sum, stage) => sum + timings[stage], 0);
  const bar = el('div', { class: 'timing-bar', 'aria-hidden': 'true' },
    slice('queue', timings.queue), pair, ...alone.map((stage) => slice(stage, timings[stage])));
  const key = el('dl', { class: 'timing-key' }, ...STAGES.map((stage) => row(stage, timings[stage])),
    rest > 0.5 ? row('rest', rest) : null);
  const place = byId('timing');
  place.replaceChildren(
    el('div', { class: 'card-head' }, el('h2', { id: 'timing-title', say: 'timing.title' }),
      el('strong', { class: 'total', say: ['timing.total', () => ({ time: millis(total) })] })),
    bar, key, el('p', { class: 'aside', say: 'timing.note' }));
  place.hidden = false;
}

function row(stage, value) {
  return el('div', { 'data-stage': stage, 'data-ms': value },
    el('dt', {}, el('span', { class: `swatch ${stage}`, 'aria-hidden': 'true' }), el('span', { say: `timing.${stage}` })),
    el('dd', { say: ['timing.ms', () => ({ time: millis(value) })] }));
}
