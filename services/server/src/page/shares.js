// Which books the passages are from: each one's share of the best, and where
// its first passage ranks in each stage.

import { byId, el, languageOf } from './dom.js';
import { number } from './strings.js';

const STAGES = ['lexical', 'dense', 'fused', 'reranked'];
/** A large library would fill the page. */
const MOST = 12;

/** Of several books that were searched; hidden for one. */
export function showShares({ shares }) {
  const place = byId('shares');
  place.hidden = !shares?.books.length;
  if (place.hidden) return;
  const head = el('tr', {}, el('th', { scope: 'col', say: 'shares.book' }),
    ...STAGES.map((stage) => el('th', { scope: 'col', 'data-stage': stage, say: `stage.${stage}` })));
  const more = shares.books.length - MOST;
  place.replaceChildren(
    el('h2', { id: 'shares-title', say: 'shares.title' }),
    el('table', { class: 'shares-table', 'aria-labelledby': 'shares-title' },
      el('thead', {}, head), el('tbody', {}, ...shares.books.slice(0, MOST).map(row))),
    ...(more > 0 ? [el('p', { class: 'aside', say: ['shares.more', { n: more }] })] : []),
    el('p', { class: 'aside', say: ['shares.help', { top: shares.top }] }));
}

function row(shares) {
  const { passages, share } = shares.reranked;
  const bar = el('span', { class: 'bar', 'aria-hidden': 'true' }, el('span', {}));
  bar.firstChild.style.width = `${100 * share}%`;
  return el('tr', { 'data-book': shares.book, 'data-passages': passages },
    el('th', { scope: 'row' },
      el('span', { class: 'book-title', lang: languageOf(shares.title) }, shares.title),
      el('span', { class: 'aside', say: ['shares.share', () => ({ n: passages, percent: number(100 * share) })] }), bar),
    ...STAGES.map((stage) => first(stage, shares[stage].first)));
}

function first(stage, rank) {
  return el('td', { 'data-stage': stage, 'data-first': rank ?? '' }, rank === null
    ? el('span', { class: 'rank absent', say: 'ranks.absent', hint: 'shares.absent.hint' })
    : el('span', { class: 'rank' }, String(rank)));
}
