// Shared by the pages about an account: shows one form at a time, sends it and shows
// the result.
const said = document.getElementById('said');

// Moves the token from the URL, where others could see it, to the state of the history entry,
// where a reload finds it.
const given = new URLSearchParams(location.search).get('token');
if (given) history.replaceState({ token: given }, '', location.pathname);

/** The token of the link that opened the page; empty if there is none. */
export const token = history.state?.token ?? '';

/** say shows a message; bad marks one that the user has to act on. */
export function say(text, bad = false) {
  said.textContent = text;
  said.className = `said ${bad ? 'bad' : 'good'}`;
  said.hidden = false;
}

/** show shows and focuses one form and hides the others; null hides all. */
export function show(form) {
  for (const other of document.forms) other.hidden = other !== form;
  form?.querySelector('input')?.focus();
}

/**
 * onSubmit sends the object that body makes of the form's fields to path. done gets the
 * answer, refused the problem; without refused the problem's message is shown.
 */
export function onSubmit(form, path, body, { done, refused = (problem) => say(explain(problem), true) }) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = form.querySelector('button');
    button.disabled = true;
    said.hidden = true;
    try {
      const answer = await fetch(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body(new FormData(form))),
      });
      const content = await answer.json();
      if (answer.ok) done(content);
      else refused(content);
    } catch {
      say('The server does not answer. Try again in a moment.', true);
    } finally {
      button.disabled = false;
    }
  });
}

/** explain makes a sentence of a problem: about the first invalid field, if there is one. */
export function explain(problem) {
  const field = problem.errors?.[0];
  const text = field ? `${field.field}: ${field.message}` : (problem.message ?? 'something went wrong');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
