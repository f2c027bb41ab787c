// Sets a new password with the token of a mailed link, or requests such a link.
import { explain, onSubmit, say, show, token } from './account.js';

const ask = document.getElementById('ask');
const set = document.getElementById('set');

onSubmit(ask, '/v1/auth/forgot-password', (fields) => ({ email: fields.get('email') }), {
  done: ({ email, linkLifeSec }) => {
    show(null);
    say(`If ${email} has an account, a link is on its way. It is valid for ${linkLifeSec / 60} minutes.`);
  },
});

onSubmit(set, '/v1/auth/reset-password', (fields) => ({ token, password: fields.get('password') }), {
  done: ({ email }) => {
    show(null);
    say(`The password is set. Log in with ${email}.`);
  },
  refused: (problem) => {
    if (problem.code === 'invalid_link' || problem.code === 'link_expired') show(ask);
    say(explain(problem), true);
  },
});

show(token ? set : ask);
