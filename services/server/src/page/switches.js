// The switches at the top: language and theme.

import { byId, svg } from './dom.js';
import { language, sayAll, sayAttribute, speak } from './strings.js';

const THEMES = ['auto', 'light', 'dark'];
const DRAWN = {
  auto: ['M12 4a8 8 0 1 0 0 16z', 'M12 4a8 8 0 0 1 0 16'],
  light: ['M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z', 'M12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2'],
  dark: ['M19 14.5A8 8 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5z'],
};

export function startSwitches() {
  const button = byId('language');
  const sayLanguage = () => {
    button.lang = language() === 'en' ? 'zh' : 'en';
    sayAll();
  };
  button.addEventListener('click', () => {
    speak(language() === 'en' ? 'zh' : 'en');
    sayLanguage();
    document.dispatchEvent(new Event('language'));
  });
  sayLanguage();

  byId('theme').addEventListener('click', () => {
    const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem('quire.theme', next);
    } catch {
      // Then it holds until the page is closed.
    }
    showTheme();
  });
  showTheme();
}

const theme = () => document.documentElement.dataset.theme ?? 'auto';

function showTheme() {
  const now = theme();
  const button = byId('theme');
  const paths = DRAWN[now].map((d, layer) => svg('path', { d, class: layer ? 'line' : 'solid' }));
  button.replaceChildren(svg('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true' }, ...paths));
  sayAttribute(button, 'aria-label', `theme.${now}`);
  sayAttribute(button, 'title', `theme.${now}`);
}
