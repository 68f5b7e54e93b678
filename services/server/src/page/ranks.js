// Why a passage is there: its place in BM25, the dense view, fusion and the
// reranker, as a table beneath each item and as lines over all of them.

import { byId, el, svg } from './dom.js';
import { decimal } from './strings.js';

const STAGES = ['lexical', 'dense', 'fused', 'reranked'];
/** Digits that tell one score of a stage from the next. */
const DIGITS = { lexical: 2, dense: 4, fused: 4, reranked: 2 };

/** The last rank of any stage, which the bars of ranks are measured by. */
export function deepest(shown) {
  const places = shown.flatMap(({ passages }) => passages.flatMap(({ stages }) => Object.values(stages)));
  return Math.max(2, ...places.map((place) => place?.rank ?? 0));
}

/** The places of an item's passages, side by side. */
export function ranksTable({ number: item, passages }, last, open) {
  const head = el('tr', {}, el('th', { scope: 'col', say: 'ranks.passage' }),
    ...STAGES.map((stage) => el('th', { scope: 'col', 'data-stage': stage, say: `stage.${stage}` })));
  const rows = passages.map(({ chunk, rank, stages }) => {
    const name = chunk.split(':')[1];
    const button = el('button', {
      type: 'button', class: 'link open-passage', 'data-chunk': chunk,
      label: ['evidence.open', { number: name }], hint: ['evidence.open', { number: name }], onclick: () => open(chunk),
    }, el('span', { class: 'passage-name' }, `¶ ${name}`), el('span', { class: 'read-on', say: 'evidence.read-on' }));
    return el('tr', { 'data-chunk': chunk, 'data-rank': rank },
      el('th', { scope: 'row' }, button), ...STAGES.map((stage) => cell(stage, stages[stage], last)));
  });
  const table = el('table', { class: 'ranks-table', label: ['ranks.of-item', { number: item }] },
    el('thead', {}, head), el('tbody', {}, ...rows));
  const light = (on) => lightLines(passages.map(({ chunk }) => chunk), on);
  table.addEventListener('pointerenter', () => light(true));
  table.addEventListener('pointerleave', () => light(false));
  return table;
}

function cell(stage, place, last) {
  if (!place) {
    return el('td', { 'data-stage': stage, 'data-rank': '' }, el('span', { class: 'rank absent', say: 'ranks.absent', hint: 'ranks.absent.hint' }));
  }
  const bar = el('span', { class: 'bar', 'aria-hidden': 'true' }, el('span', {}));
  bar.firstChild.style.width = `${100 - 92 * depth(place.rank, last)}%`;
  return el('td', { 'data-stage': stage, 'data-rank': place.rank, 'data-score': place.score },
    el('span', { class: 'rank' }, String(place.rank)),
    el('span', { class: 'score' }, decimal(place.score, DIGITS[stage])), bar);
}

/** How deep a rank is: 0 the first, 1 the last; by ratio, not difference. */
function depth(rank, last) {
  return Math.min(1, Math.log(rank) / Math.log(last));
}

const WIDTH = 340;
const HEIGHT = 220;
const TOP = 34;
const BOTTOM = HEIGHT - 34;
const column = (place) => 34 + place * ((WIDTH - 92) / (STAGES.length - 1));

/** The lines: a passage's way from stage to stage, the best on top. */
export function showRanks({ evidence: { items } }) {
  const place = byId('ranks');
  const passages = items.flatMap((item) => item.passages.map((passage) => ({ ...passage, item: item.number })));
  place.hidden = passages.length === 0;
  if (place.hidden) return;
  const last = deepest(items);
  const ranked = [...passages].sort((a, b) => b.rank - a.rank);
  const picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', label: ['ranks.picture', { n: passages.length }] });
  STAGES.forEach((stage, at) => {
    const name = svg('text', { x: column(at), y: 14, class: 'axis', 'data-stage': stage, say: `stage.${stage}` });
    picture.append(name, svg('line', { x1: column(at), x2: column(at), y1: TOP - 8, y2: BOTTOM + 8, class: 'rule' }));
  });
  picture.append(
    svg('text', { x: 12, y: TOP + 4, class: 'axis' }, '1'),
    svg('text', { x: 12, y: BOTTOM + 4, class: 'axis' }, String(last)),
    svg('text', { x: 12, y: HEIGHT - 6, class: 'axis' }, '–'),
    ...ranked.map((passage) => line(passage, last)), ...labels(passages, last));
  place.replaceChildren(
    el('h2', { id: 'ranks-title', say: 'ranks.title' }), picture, el('p', { class: 'aside', say: 'ranks.help' }));
}

const height = (rank, last) => TOP + depth(rank, last) * (BOTTOM - TOP);

function line({ chunk, rank, stages }, last) {
  const group = svg('g', { class: rank <= 3 ? 'way best' : 'way', 'data-chunk': chunk });
  const points = STAGES.map((stage, at) => ({ stage, x: column(at), place: stages[stage] }))
    .filter(({ stage, place }) => place || stage === 'lexical' || stage === 'dense')
    .map(({ x, place }) => ({ x, y: place ? height(place.rank, last) : HEIGHT - 10, isFound: Boolean(place) }));
  const path = points.map(({ x, y }, at) => {
    if (at === 0) return `M${x} ${y.toFixed(1)}`;
    const middle = (points[at - 1].x + x) / 2;
    return `C${middle} ${points[at - 1].y.toFixed(1)} ${middle} ${y.toFixed(1)} ${x} ${y.toFixed(1)}`;
  });
  group.append(svg('path', { d: path.join('') }));
  for (const { x, y, isFound } of points) {
    group.append(svg('circle', { cx: x, cy: y.toFixed(1), r: isFound ? 3.5 : 2.5, class: isFound ? 'found' : 'missed' }));
  }
  return group;
}

// The item's number where each line ends, moved apart where lines meet.
function labels(passages, last) {
  const final = ({ stages }) => (stages.reranked ?? stages.fused)?.rank ?? last;
  let free = 0;
  return [...passages].sort((a, b) => final(a) - final(b)).map((passage) => {
    const y = Math.max(height(final(passage), last), free);
    free = y + 13;
    return svg('text', { x: column(3) + 12, y: (y + 4).toFixed(1), class: 'end', 'data-chunk': passage.chunk },
      `${passage.item} · ¶${passage.chunk.split(':')[1]}`);
  });
}

function lightLines(chunks, on) {
  const picture = byId('ranks').querySelector('svg');
  picture?.classList.toggle('choosing', on);
  for (const node of picture?.querySelectorAll('[data-chunk]') ?? []) {
    node.classList.toggle('lit', on && chunks.includes(node.dataset.chunk));
  }
}
