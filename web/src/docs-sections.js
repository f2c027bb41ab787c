// The list of sections beside the viewer, and the search above it.
import { find } from './docs-document.js';
import { INTRODUCTION, addressOf } from './docs-viewer.js';

const menu = document.getElementById('menu');
const contents = document.getElementById('contents');
const search = document.getElementById('search');
const found = document.getElementById('found');
const results = document.getElementById('results');
const groups = document.getElementById('groups');

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function open(isOpen) {
  menu.setAttribute('aria-expanded', isOpen);
  contents.classList.toggle('open', isOpen);
}

const badge = () => element('span', { className: 'badge', textContent: 'not built yet' });

// A link to an operation: its method, its summary, and a badge if it isn't built.
function linkTo(operation, withPath) {
  const words = element('span', { textContent: operation.summary });
  if (operation.unbuilt) words.append(' ', badge());
  if (withPath) words.append(element('span', { className: 'path', textContent: operation.path }));
  const method = element('span', { className: `method ${operation.method}`, textContent: operation.method });
  const link = element('a', { href: addressOf(operation.section, operation.id), className: 'operation' }, method, ' ', words);
  link.dataset.operation = operation.id;
  return link;
}

function sectionEntry(name, operations) {
  const link = element('a', { href: addressOf(name), textContent: name, className: 'section' });
  if (operations.length > 0 && operations.every((operation) => operation.unbuilt)) {
    link.append(' ', badge());
  }
  const entry = element('li', {}, link);
  entry.dataset.section = name;
  if (operations.length > 0) {
    entry.append(element('ul', { hidden: true }, ...operations.map((operation) => element('li', {}, linkTo(operation)))));
  }
  return entry;
}

// The groups of x-tagGroups; sections without a group come last.
function groupsOf(doc) {
  const listed = doc['x-tagGroups'] ?? [];
  const grouped = new Set(listed.flatMap((group) => group.tags));
  const rest = (doc.tags ?? []).map((tag) => tag.name).filter((name) => !grouped.has(name));
  return rest.length > 0 ? [...listed, { name: 'Other sections', tags: rest }] : listed;
}

function showResults(operations) {
  const question = search.value.trim();
  const matches = question ? find(operations, question) : [];
  results.hidden = !question;
  groups.hidden = Boolean(question);
  found.textContent = question ? `${matches.length} ${matches.length === 1 ? 'operation' : 'operations'} found` : '';
  results.replaceChildren(...matches.map((operation) => element('li', {}, linkTo(operation, true))));
}

// Fills the list. The result's select marks a section as the current one and shows its operations.
export function showSections(doc, operations) {
  groups.append(element('ul', {}, sectionEntry(INTRODUCTION, [])));
  for (const group of groupsOf(doc)) {
    const entries = group.tags.map((name) => sectionEntry(name, operations.filter((operation) => operation.section === name)));
    groups.append(element('h2', { textContent: group.name }), element('ul', {}, ...entries));
  }
  groups.append(element('h2', { textContent: 'Data' }), element('ul', {}, sectionEntry('Schemas', [])));

  menu.addEventListener('click', () => open(menu.getAttribute('aria-expanded') !== 'true'));
  search.addEventListener('input', () => showResults(operations));
  search.form.addEventListener('submit', (event) => {
    event.preventDefault();
    results.querySelector('a')?.click();
  });
  contents.addEventListener('click', (event) => {
    if (event.target.closest('a')) open(false);
  });
  return { select };
}

function select(section, operationId) {
  for (const entry of groups.querySelectorAll('[data-section]')) {
    const isCurrent = entry.dataset.section === section;
    const link = entry.querySelector('.section');
    if (isCurrent) link.setAttribute('aria-current', operationId ? 'true' : 'page');
    else link.removeAttribute('aria-current');
    const list = entry.querySelector('ul');
    if (list) list.hidden = !isCurrent;
  }
  for (const link of contents.querySelectorAll('[data-operation]')) {
    if (link.dataset.operation === operationId) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  reveal(groups.querySelector('[aria-current="page"]'));
}

// Scrolls the list, not the page, until the link is in its middle.
function reveal(link) {
  const list = [contents.parentElement, contents].find((box) => box.scrollHeight > box.clientHeight && box.contains(link));
  if (!list) return;
  const [inside, outside] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
  if (inside.top < outside.top || inside.bottom > outside.bottom) list.scrollTop += inside.top - outside.top - list.clientHeight / 2;
}
