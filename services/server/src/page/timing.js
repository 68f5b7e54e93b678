// Where the time went: a bar of the stages, a key to it, and the numbers.

import { byId, el } from './dom.js';
import { number } from './strings.js';

const STAGES = ['queue', 'lexical', 'embed', 'dense', 'fuse', 'rerank', 'assemble', 'answer'];

const millis = (value) => `${number(value, value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;

export function showTiming(timings) {
  const { total } = timings;
  const together = Math.max(timings.lexical, timings.embed);
  const before = timings.queue + together + timings.dense + timings.fuse + timings.rerank + timings.assemble;
  const rest = total - before - timings.answer;
  const key = el('dl', { class: 'timing-key' }, ...STAGES.map((stage) => row(stage, timings[stage])),
    rest > 0.5 ? row('rest', rest) : null);
  const place = byId('timing');
  place.replaceChildren(
    el('div', { class: 'card-head' }, el('h2', { id: 'timing-title', say: 'timing.title' }),
      el('strong', { class: 'total', say: ['timing.total', () => ({ time: millis(total) })] })),
    bar(timings, total, ['queue', 'pair', 'dense', 'fuse', 'rerank', 'assemble', 'answer']), key);
  // A slow answer leaves of its evidence's stages a line.
  if (timings.answer > 2 * before) {
    key.before(
      el('p', { class: 'aside enlarged', say: ['timing.enlarged', () => ({ time: millis(before) })] }),
      bar(timings, before, ['queue', 'pair', 'dense', 'fuse', 'rerank', 'assemble']));
  }
  place.append(el('p', { class: 'aside', say: 'timing.note' }));
  place.hidden = false;
}

// The numbers are in the key; the bar is for the eye.
function bar(timings, whole, stages) {
  const sized = (node, value, of) => {
    node.style.width = `${(100 * value) / Math.max(of, 1e-9)}%`;
    return node;
  };
  const slices = stages.map((stage) => {
    if (stage !== 'pair') return sized(el('span', { class: 'slice', 'data-stage': stage }), timings[stage], whole);
    // BM25 runs while the question is embedded: one above the other.
    const longer = Math.max(timings.lexical, timings.embed);
    const lanes = ['lexical', 'embed'].map((lane) =>
      sized(el('span', { class: 'lane', 'data-stage': lane }), timings[lane], longer));
    return sized(el('span', { class: 'slice pair' }, ...lanes), longer, whole);
  });
  return el('div', { class: 'timing-bar', 'aria-hidden': 'true' }, ...slices);
}

function row(stage, value) {
  return el('div', { 'data-stage': stage, 'data-ms': value },
    el('dt', {}, el('span', { class: 'swatch', 'aria-hidden': 'true' }), el('span', { say: `timing.${stage}` })),
    el('dd', { say: ['timing.ms', () => ({ time: millis(value) })] }));
}
