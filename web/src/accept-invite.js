// Accepts an invitation with the token of a mailed link.
import { onSubmit, say, show, token } from './account.js';

const form = document.getElementById('accept');

onSubmit(
  form,
  '/v1/auth/accept-invite',
  (fields) => {
    const name = fields.get('name').trim();
    return { token, password: fields.get('password'), ...(name && { name }) };
  },
  {
    done: ({ user, tenant }) => {
      show(null);
      say(`Welcome, ${user.name}. You have joined ${tenant.name}; log in with ${user.email} and your new password.`);
    },
  },
);

if (token) show(form);
else say('Open the link in your invitation mail: this address is not complete.', true);
