// Runs before the first paint, so that a chosen theme does not flash.
try {
  const kept = localStorage.getItem('quire.theme');
  if (kept) document.documentElement.dataset.theme = kept;
} catch {
  // Without storage the system's theme is shown.
}
