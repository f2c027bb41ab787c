// Says on the landing page whether the server is ready to work.
const health = document.getElementById('health');

function say(text, mood) {
  health.textContent = text;
  health.className = `health ${mood}`;
}

try {
  const answer = await fetch('/v1/health/ready', { cache: 'no-store' });
  if (answer.ok) say('All parts are ready.', 'good');
  else say('A part is not ready yet. Health, below, says which.', 'bad');
} catch {
  say('The server does not answer. Is it still running?', 'bad');
}
