/**
 * Writes the TypeScript types of the API document.
 *
 *     node types.mjs <document> <output>
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

import openapiTS, { astToString, COMMENT_HEADER, NULL, oapiRef } from 'openapi-typescript';
import ts from 'typescript';

const [document, output] = process.argv.slice(2);

const types = await openapiTS(pathToFileURL(document), {
  defaultNonNullable: false,
  emptyObjectsUnknown: true,
  rootTypes: true,
  rootTypesKeepCasing: true,
  rootTypesNoSchemaPrefix: true,
  // The document has nullable copies of schemas, since OpenAPI 3.0 can't make a reference nullable. A union can.
  transform(schema) {
    const name = schema['x-go-type'];
    return name && ts.factory.createUnionTypeNode([oapiRef(`#/components/schemas/${name}`), NULL]);
  },
});

const text = COMMENT_HEADER + astToString(types);
if (readFileSync(output, { encoding: 'utf8', flag: 'a+' }) !== text) writeFileSync(output, text);
