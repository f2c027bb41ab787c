// Shows this server's own API document: sections and search beside Swagger UI, which shows one section at a time.
// It requests nothing from other hosts: the online validator is off, and so is ?url=, which could show another document.
import { fillCredentials } from './docs-credentials.js';
import { arrange, listOperations } from './docs-document.js';
import { INTRODUCTION, placeOf, viewer } from './docs-viewer.js';
import { showSections } from './docs-sections.js';

const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

const main = document.getElementById('viewer');

try {
  const answer = await fetch('/openapi.json');
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  start(arrange(await answer.json()));
} catch (error) {
  main.textContent = `The API document can’t be loaded: ${error.message}. Is the server still running?`;
}

function start(document_) {
  document.title = document_.info.title;
  const operations = listOperations(document_);
  const sections = showSections(document_, operations);
  const ui = globalThis.SwaggerUIBundle({
    spec: document_,
    domNode: main,
    layout: 'Section',
    plugins: [viewer],
    docExpansion: 'list',
    defaultModelsExpandDepth: 1,
    displayRequestDuration: true,
    syntaxHighlight: false,
    queryConfigEnabled: false,
    validatorUrl: null,
  });
  const { layoutActions, authActions } = ui.getSystem();
  fillCredentials(document_, authActions);

  // Shows the section that the address names (#/Streams), with an operation opened (#/Streams/createStream).
  function go() {
    const { section, operationId } = placeOf(location.hash);
    const known = operations.some((operation) => operation.section === section) || section === INTRODUCTION || section === 'Schemas';
    const shown = known ? section : INTRODUCTION;
    layoutActions.updateFilter(shown);
    sections.select(shown, operationId);
    if (operationId) layoutActions.open(shown, operationId);
    else scrollTo(0, 0);
  }
  addEventListener('hashchange', go);
  go();
}
