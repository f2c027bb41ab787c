// Shows on the landing page whether the server is ready.
const health = document.getElementById('health');

function say(text, mood) {
  health.textContent = text;
  health.className = `health ${mood}`;
}

try {
  const answer = await fetch('/v1/health/ready', { cache: 'no-store' });
  if (answer.ok) say('All parts are ready.', 'good');
  else say('A part is not ready yet. Open Health, below, to see which one.', 'bad');
} catch {
  say('The server does not answer. Is it still running?', 'bad');
}
