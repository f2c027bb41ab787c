// The dialog in which people enter the credentials for “Try it”: one field for each security scheme of the document.

const dialog = document.getElementById('credentials');
const list = document.getElementById('schemes');
const opener = document.getElementById('authorize');

// Shows `code` of a description as code.
function withCode(text) {
  return text.split('`').map((part, i) => (i % 2 === 0 ? part : Object.assign(document.createElement('code'), { textContent: part })));
}

// Fills the dialog with the schemes in the order of x-order. Each change takes effect at once.
export function fillCredentials(doc, authActions) {
  const schemes = Object.entries(doc.components?.securitySchemes ?? {});
  schemes.sort(([, a], [, b]) => (a['x-order'] ?? Infinity) - (b['x-order'] ?? Infinity));
  for (const [name, scheme] of schemes) list.append(entry(name, scheme, authActions));
  opener.addEventListener('click', () => dialog.showModal());
  dialog.addEventListener('close', () => {
    const hasAny = [...list.querySelectorAll('input')].some((input) => input.value);
    opener.textContent = hasAny ? 'Authorized' : 'Authorize';
  });
}

function entry(name, scheme, authActions) {
  const place = document.createElement('div');
  const id = `credential-${name}`;
  const label = Object.assign(document.createElement('label'), { htmlFor: id, textContent: scheme['x-title'] ?? name });
  const note = Object.assign(document.createElement('p'), { id: `${id}-note` });
  note.append(...withCode(scheme['x-holder'] ?? scheme.description ?? ''));
  const input = Object.assign(document.createElement('input'), { id, type: 'password', autocomplete: 'off' });
  input.placeholder = scheme.scheme === 'bearer' ? 'Authorization: Bearer …' : `${scheme.in}: ${scheme.name}`;
  input.setAttribute('aria-describedby', note.id);
  input.addEventListener('input', () => {
    const value = input.value.trim();
    if (value) authActions.authorize({ [name]: { name, schema: scheme, value } });
    else authActions.logout([name]);
  });
  place.append(label, note, input);
  return place;
}
