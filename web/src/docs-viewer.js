// A plugin of Swagger UI: its layout shows one section, its summaries have badges, and it has no controls of its own for
// servers, filters and credentials.

export const INTRODUCTION = 'Introduction';
const SCHEMAS = 'Schemas';

// The address of a section or an operation within this page.
export function addressOf(section, operationId) {
  return `#/${[section, operationId].filter(Boolean).map(encodeURIComponent).join('/')}`;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no address of ours
  }
}

// The section and the operation that an address names.
export function placeOf(hash) {
  const [section = '', operationId = ''] = hash.replace(/^#\/?/, '').split('/').map(decoded);
  return { section: section || INTRODUCTION, operationId };
}

// The id of an operation that is to be scrolled to when it is shown.
let awaited = '';

// The components of a section: its heading, and what Swagger UI shows in it.
function sectionParts(React) {
  const h = React.createElement;

  function Section({ getComponent, layoutSelectors }) {
    const section = layoutSelectors.currentFilter();
    const part = { [INTRODUCTION]: 'InfoContainer', [SCHEMAS]: 'Models' }[section] ?? 'operations';
    const box = React.useRef(null);
    // Swagger UI begins the list of schemas with a heading of the fourth level.
    React.useLayoutEffect(() => box.current.querySelector('.models > h4')?.setAttribute('aria-level', '2'));
    return h('div', { className: 'swagger-ui', ref: box },
      h(getComponent('SvgAssets')), h(getComponent('errors', true)),
      section === SCHEMAS && h('h1', {}, section),
      h(getComponent(part, true)));
  }

  function OperationTag({ tag, tagObj, getComponent, children }) {
    const description = tagObj.getIn(['tagDetails', 'description']);
    return h('section', {},
      h('h1', {}, tag), description && h(getComponent('Markdown', true), { source: description }),
      h('h2', { className: 'unseen' }, 'Operations'), children);
  }

  return { Section, OperationTag };
}

// The component of an operation's summary: a button that opens and closes the operation.
function summaryPart(React, getSystem) {
  const h = React.createElement;

  return function OperationSummary({ operationProps, isShown, toggleShown }) {
    const { method, path, summary, operationId, tag } = operationProps.toObject();
    const isUnbuilt = getSystem().specSelectors.specJson().getIn(['paths', path, method, 'x-unbuilt']);
    const row = React.useRef(null);
    React.useLayoutEffect(() => {
      if (awaited !== operationId) return;
      awaited = '';
      row.current.scrollIntoView({ block: 'start' });
      row.current.focus({ preventScroll: true });
    });
    const toggle = () => {
      history.replaceState(null, '', isShown ? addressOf(tag) : addressOf(tag, operationId));
      toggleShown();
    };
    return h('h3', { className: 'opblock-summary' },
      h('button', { ref: row, type: 'button', 'aria-expanded': isShown, onClick: toggle, 'data-operation': operationId },
        h('span', { className: `method ${method}` }, method),
        h('span', { className: 'path' }, path),
        h('span', { className: 'summary' }, summary),
        isUnbuilt && h('span', { className: 'badge' }, 'not built yet')));
  };
}

export function viewer({ React, getSystem }) {
  const h = React.createElement;

  return {
    components: { ...sectionParts(React), OperationSummary: summaryPart(React, getSystem) },
    wrapComponents: {
      // Long answers scroll in a box that the keyboard reaches.
      HighlightCode: (Original) => (properties) => h('div', { className: 'scrolls', tabIndex: 0, role: 'group', 'aria-label': 'Code' }, h(Original, properties)),
      TextArea: (Original) => (properties) => h(Original, { 'aria-label': 'Request body', ...properties }),
    },
    fn: {
      opsFilter: (sections, name) => sections.filter((_, section) => section === name),
    },
    statePlugins: {
      layout: {
        actions: {
          // Opens an operation of the section that is shown, and scrolls to it.
          open: (section, operationId) => ({ layoutActions }) => {
            awaited = operationId;
            layoutActions.show(['operations', section, operationId], true);
          },
        },
      },
    },
  };
}
