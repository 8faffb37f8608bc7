/** The settings as a JSON Schema, with which editors complete and check `ripen.yaml`. */

import * as z from 'zod';

import { isMapping } from './plain-values.ts';
import { settings } from './settings.ts';
import { sliceSettings } from './slice-settings.ts';

/** A value that is taken from the environment, whatever kind the setting has. */
const variable = { type: 'string', pattern: String.raw`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}` };

/** Keywords that hold values, or schemas of keys, rather than schemas of values. */
const notSchemas = new Set(['const', 'enum', 'default', 'required', 'propertyNames', 'pattern']);

/** A draft-07 schema (what editors know) of the file's text before its variables are filled; a fresh object. */
export function configJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(settings, {
    io: 'input',
    target: 'draft-7',
    override: ({ zodSchema, jsonSchema }) => {
      // The defaults may state all else.
      if (zodSchema === sliceSettings) jsonSchema.required = ['name'];
    },
  });
  return {
    $schema,
    title: 'ripen.yaml',
    description: 'Configuration of ripen.',
    ...withVariables(schema),
    patternProperties: { '^x-': { description: 'Holds anchors; read where an alias leads to it.' } },
    definitions: { variable },
  };
}

/** The schema, with every value that is bound to a form also allowed to come from the environment. */
function withVariables(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const inner = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      notSchemas.has(keyword) ? value : nested(keyword, value),
    ]),
  );
  // A list within a list adds its items; they are checked when the file is read.
  if (inner['type'] === 'array') return { ...inner, items: { anyOf: [inner['items'], { type: 'array' }] } };
  if (!isBoundScalar(inner)) return inner;
  const { description, default: standard, ...bound } = inner;
  return {
    ...(description === undefined ? {} : { description }),
    ...(standard === undefined ? {} : { default: standard }),
    anyOf: [bound, { $ref: '#/definitions/variable' }],
  };
}

function nested(keyword: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => (isMapping(item) ? withVariables(item) : item));
  if (!isMapping(value)) return value;
  if (keyword !== 'properties') return withVariables(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, schema]) => [name, isMapping(schema) ? withVariables(schema) : schema]),
  );
}

function isBoundScalar(schema: Readonly<Record<string, unknown>>): boolean {
  const { type } = schema;
  if (type === 'string') return 'pattern' in schema || 'enum' in schema || 'const' in schema || 'format' in schema;
  return type === 'integer' || type === 'number' || type === 'boolean';
}
