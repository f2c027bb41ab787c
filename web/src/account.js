// What the pages about an account share: one form at a time, its call, and what
// came of it.
const said = document.getElementById('said');

// The token leaves the address, where others would see it; a reload finds it in the history
// entry's state.
const given = new URLSearchParams(location.search).get('token');
if (given) history.replaceState({ token: given }, '', location.pathname);

/** The token of the link that led here; empty when there is none. */
export const token = history.state?.token ?? '';

/** say shows one sentence; bad when something has to be done about it. */
export function say(text, bad = false) {
  said.textContent = text;
  said.className = `said ${bad ? 'bad' : 'good'}`;
  said.hidden = false;
}

/** show puts the focus into one form and hides the others. */
export function show(form) {
  for (const other of document.forms) other.hidden = other !== form;
  form?.querySelector('input')?.focus();
}

/**
 * onSubmit sends what body makes of the form's fields to path. done gets the
 * answer, refused the problem; without refused its message is shown.
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

/** explain puts a problem into a sentence: that of the faulty field, if one is. */
export function explain(problem) {
  const field = problem.errors?.[0];
  const text = field ? `${field.field}: ${field.message}` : (problem.message ?? 'something went wrong');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
