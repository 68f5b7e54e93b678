// The page put together: its views and what the address says of them.

import { askFrom, clear, startAsking } from './ask.js';
import { startBooks, refreshBooks } from './books.js';
import { byId } from './dom.js';
import { startKey } from './key.js';
import { showProblem } from './problem.js';
import { startSwitches } from './switches.js';
import { followRunning, startUpload } from './upload.js';
import { startWelcome } from './welcome.js';

startSwitches();
startKey();
startAsking();
startBooks();
startUpload(() => { location.hash = 'view=books'; });
startWelcome();

function route() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const atBooks = parameters.get('view') === 'books';
  byId('books-view').hidden = !atBooks;
  byId('ask-view').hidden = atBooks;
  for (const [id, isHere] of [['to-ask', !atBooks], ['to-books', atBooks]]) {
    if (isHere) byId(id).setAttribute('aria-current', 'page');
    else byId(id).removeAttribute('aria-current');
  }
  if (atBooks) {
    refreshBooks();
    followRunning().catch((error) => showProblem(byId('books-problem'), error));
  } else if (parameters.has('q')) {
    askFrom(parameters);
  } else {
    clear();
  }
}

addEventListener('hashchange', route);
// Books are named in an address by the beginning of their ids.
await refreshBooks();
route();
if (byId('books-view').hidden) byId('question').focus({ preventScroll: true });
