// Prepares the API document for the viewer, and lists its operations for the search.

const METHODS = ['get', 'head', 'options', 'put', 'post', 'patch', 'delete', 'trace'];

// A table in Markdown whose first column is the status or code of a problem, with the empty lines around it.
const PROBLEMS = /\n*^\| *(?:Status|Code) *\|.*\n\|[-| ]+\|\n(?:\|.*(?:\n|$))+/gm;

// Moves the tables of problems from the operations' descriptions to the answer `default`, so that the parameters and the
// request come first, begins each description with the credentials that the operation accepts, and lists the parameters of
// the path before those of headers. It changes the document.
export function arrange(doc) {
  for (const { item, operation } of everyOperation(doc)) {
    operation.parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
    const description = operation.description ?? '';
    const tables = description.match(PROBLEMS) ?? [];
    const problem = doc.components?.responses?.Problem;
    if (tables.length > 0 && problem && operation.responses.default) {
      operation.responses.default = { ...problem, description: `${problem.description}\n\n${tables.join('\n').trim()}` };
      operation.description = description.replace(PROBLEMS, '\n\n').trim();
    }
    operation.description = `${access(doc, operation)}\n\n${operation.description ?? ''}`;
  }
  for (const item of Object.values(doc.paths)) delete item.parameters;
  return doc;
}

// A line such as "Access: API key, or user's token (`streams:write`)".
function access(doc, operation) {
  const accepted = (operation.security ?? doc.security ?? []).flatMap(Object.entries).map(([name, scopes]) => {
    const title = doc.components.securitySchemes[name]?.['x-title'] ?? name;
    return scopes.length > 0 ? `${title} (${scopes.map((scope) => `\`${scope}\``).join(', ')})` : title;
  });
  return `*Access: ${accepted.length > 0 ? accepted.join('; ') : 'without credentials'}.*`;
}

function* everyOperation(doc) {
  for (const [path, item] of Object.entries(doc.paths)) {
    for (const method of METHODS) {
      if (item[method]) yield { path, method, item, operation: item[method] };
    }
  }
}

// Lists the operations in the document's order. text holds everything that the search compares, in lower case.
export function listOperations(doc) {
  return [...everyOperation(doc)].map(({ path, method, operation }) => ({
    path,
    method,
    id: operation.operationId,
    section: operation.tags[0],
    summary: operation.summary ?? '',
    unbuilt: operation['x-unbuilt'] === true,
    text: [method, path, operation.operationId, operation.summary, operation.description].join('\n').toLowerCase(),
  }));
}

// Returns the operations that contain each word, best first: a word in the path, the id or the summary counts more than
// one in the description.
export function find(operations, question) {
  const words = question.toLowerCase().split(/\s+/).filter(Boolean);
  const weight = (operation) => {
    const head = `${operation.method} ${operation.path} ${operation.id} ${operation.summary}`.toLowerCase();
    return words.filter((word) => head.includes(word)).length;
  };
  return operations
    .filter((operation) => words.every((word) => operation.text.includes(word)))
    .sort((a, b) => weight(b) - weight(a));
}
