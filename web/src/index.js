// Shows on the landing page whether the server is ready, the pages that only a development server has, and a first call.
const health = document.getElementById('health');

function say(text, mood) {
  health.textContent = text;
  health.className = `health ${mood}`;
}

document.getElementById('curl').textContent = `curl -sS ${location.origin}/v1/auth/register \\
  -H 'Content-Type: application/json' \\
  -d '{"tenantName": "Acme Live", "name": "Ada", "email": "ada@acme.example", "password": "correct horse battery"}'`;

// The mailbox and the sandbox exist if nothing else sends mails and takes payments. They answer this machine alone.
const onThisMachine = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);

function showExtras({ checks = [] }) {
  const uses = (name, engine) => onThisMachine && checks.some((check) => check.name === name && check.engine.includes(engine));
  document.getElementById('mailbox').hidden = !uses('mail', 'mailbox');
  document.getElementById('sandbox').hidden = !uses('payments', 'sandbox');
}

try {
  const answer = await fetch('/v1/health/ready', { cache: 'no-store' });
  showExtras(await answer.clone().json());
  if (answer.ok) say('All parts are ready.', 'good');
  else say('A part is not ready yet. Open Health, below, to see which one.', 'bad');
} catch {
  say('The server does not answer. Is it still running?', 'bad');
}
