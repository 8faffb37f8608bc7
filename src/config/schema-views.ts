/** Derives a JSON Schema for editors, and the configuration as ripen understands it, from the settings' schema. */

import { Document, isMap, isScalar, visit } from 'yaml';
import * as z from 'zod';

import { isMapping, itemsOf } from './config-problems.ts';
import { settings } from './settings.ts';
import { sliceSettings } from './slice-settings.ts';

/** A value taken from the environment. */
const variable = { type: 'string', pattern: String.raw`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}` };

/** Keywords that hold no schemas of values. */
const notSchemas = new Set(['const', 'enum', 'default', 'required', 'propertyNames', 'pattern']);

/** Returns a draft-07 schema of the file's text before its variables are filled. */
export function configJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(settings, {
    io: 'input',
    target: 'draft-7',
    override: ({ zodSchema, jsonSchema }) => {
      // The defaults may state every other key.
      if (zodSchema === sliceSettings) jsonSchema.required = ['name'];
    },
  });
  return {
    $schema,
    title: 'ripen.yaml',
    description: 'Configuration of ripen.',
    ...withVariables(schema),
    patternProperties: {
      '^x-': { description: 'Holds anchors; read where an alias leads to it.' },
    },
    definitions: { variable },
  };
}

/** Allows a variable, too, for every value that must have a certain form. */
function withVariables(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const inner = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      notSchemas.has(keyword) ? value : nested(keyword, value),
    ]),
  );
  // A nested list adds its items to the outer list; they are checked when the file is read.
  if (inner['type'] === 'array')
    return { ...inner, items: { anyOf: [inner['items'], { type: 'array' }] } };
  if (!isBoundScalar(inner)) return inner;
  const { description, default: standard, ...bound } = inner;
  return {
    ...(description === undefined ? {} : { description }),
    ...(standard === undefined ? {} : { default: standard }),
    anyOf: [bound, { $ref: '#/definitions/variable' }],
  };
}

function nested(keyword: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => nested('', item));
  if (!isMapping(value)) return value;
  if (keyword !== 'properties') return withVariables(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, schema]) => [name, nested('', schema)]),
  );
}

function isBoundScalar(schema: Readonly<Record<string, unknown>>): boolean {
  const { type } = schema;
  if (type === 'string')
    return ['pattern', 'enum', 'const', 'format'].some((keyword) => keyword in schema);
  return type === 'integer' || type === 'number' || type === 'boolean';
}

const LINE_WIDTH = 120;

/** Returns settings as YAML that states the same when read again, except for secrets. `notes` as for `resolvedText`. */
export function resolvedYaml(
  root: Readonly<Record<string, unknown>>,
  notes: ReadonlyMap<string, string>,
): string {
  const { defaults: _, ...stated } = root;
  const service = stated['service'] === 'simulator' ? { simulator: {} } : stated['service'];
  const schema = z.toJSONSchema(settings, { io: 'input', target: 'draft-7' });
  const document = new Document(resolved(schema, { ...stated, service }));
  visit(document, {
    Pair: (_step, { key }, ancestors) => {
      const slice = ancestors.at(-1);
      if (!isScalar(key) || key.value !== 'metrics' || !isMap(slice)) return;
      const note = notes.get(String(slice.get('name')));
      if (note !== undefined) key.commentBefore = note.replaceAll(/^/gm, ' ');
    },
    Seq: (_key, list) => {
      list.flow = list.items.every((item) => isScalar(item));
    },
    Scalar: (_key, scalar) => {
      // Escapes a dollar sign that would be read as a variable or as an escape.
      if (typeof scalar.value === 'string')
        scalar.value = scalar.value.replaceAll(/\$(?=[{$])/g, '$$$$');
    },
  });
  return document.toString({ lineWidth: LINE_WIDTH });
}

/** Adds the defaults of a valid value's schema, and replaces what is never printed. */
function resolved(schema: unknown, stated: unknown): unknown {
  if (!isMapping(schema)) return stated;
  const value = stated === undefined ? schema['default'] : stated;
  if (value === undefined || value === null) return value;
  if (schema['writeOnly'] === true)
    return JSON.stringify(value).includes('://') ? 'https://***' : '***';
  const form = itemsOf(schema['anyOf']).find((option) => fits(option, value));
  if (form !== undefined) return resolved(form, value);
  if (Array.isArray(value)) return value.map((item: unknown) => resolved(schema['items'], item));
  if (!isMapping(value)) return value;
  const known = isMapping(schema['properties']) ? schema['properties'] : {};
  const entries = [...new Set([...Object.keys(known), ...Object.keys(value)])].map((key) => {
    const inner = Object.hasOwn(known, key) ? known[key] : schema['additionalProperties'];
    return [key, resolved(inner, Object.hasOwn(value, key) ? value[key] : undefined)];
  });
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

/** Whether a form of a setting is that of a valid value: the same kind, and every key if it is a mapping. */
function fits(form: unknown, value: unknown): boolean {
  const { type, anyOf, properties, additionalProperties } = isMapping(form) ? form : {};
  if (Array.isArray(anyOf)) return anyOf.some((option) => fits(option, value));
  if (Array.isArray(value)) return type === 'array';
  if (!isMapping(value)) return type !== 'array' && type !== 'object';
  const known = isMapping(properties) ? properties : {};
  const isOpen = additionalProperties !== false;
  return type === 'object' && (isOpen || Object.keys(value).every((key) => key in known));
}
