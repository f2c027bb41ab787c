// Lists the mails that stay on this machine, newest first, and shows the chosen one.
// It checks for new mails every everyMs.
const everyMs = 2000;

const byId = (id) => document.getElementById(id);
let shown = ''; // id of the open mail
let known = ''; // ids of the listed mails

function open(mail) {
  shown = mail.id;
  byId('subject').textContent = mail.subject;
  byId('to').textContent = `to ${mail.to}`;
  byId('at').textContent = new Date(mail.at).toLocaleString();
  byId('at').dateTime = mail.at;
  byId('text').textContent = mail.text;
  byId('letter').src = `/mailbox/mails/${encodeURIComponent(mail.id)}`;
  byId('mail').hidden = false;
  mark();
}

function mark() {
  for (const button of byId('mails').querySelectorAll('button')) {
    if (button.dataset.id === shown) button.setAttribute('aria-current', 'true');
    else button.removeAttribute('aria-current');
  }
}

function entry(mail) {
  const button = document.createElement('button');
  button.type = 'button';
  button.dataset.id = mail.id;
  button.textContent = mail.subject;
  const to = document.createElement('span');
  to.textContent = mail.to;
  button.append(to);
  button.addEventListener('click', () => open(mail));
  const item = document.createElement('li');
  item.append(button);
  return item;
}

function list(mails) {
  const ids = mails.map((mail) => mail.id).join();
  byId('state').textContent = mails.length ? 'The newest 100 mails. None of them was sent.' : 'No mail yet.';
  if (ids === known) return;
  known = ids;
  byId('mails').replaceChildren(...mails.map(entry));
  if (!shown && mails.length) open(mails[0]);
  mark();
}

async function look() {
  try {
    const answer = await fetch('/mailbox/mails', { cache: 'no-store' });
    if (!answer.ok) throw new Error(answer.statusText);
    list(await answer.json());
  } catch {
    byId('state').textContent = 'The server does not answer. Is it still running?';
  }
  setTimeout(look, everyMs);
}

look();
