/** Derives a JSON Schema for editors, and the configuration as ripen understands it, from the settings' schema. */

import { Document, isMap, isScalar, visit } from 'yaml';
import * as z from 'zod';

import { isRecord } from '../model/canonical-json.ts';
import { itemsOf } from './config-problems.ts';
import { settings } from './settings.ts';
import { sliceSettings } from './slice-settings.ts';

/** A draft-07 schema of the file's text before its variables are filled. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...schema } = z.toJSONSchema(settings, {
    io: 'input',
    target: 'draft-7',
    override: ({ zodSchema, jsonSchema, path }) => {
      // The defaults may state every other key.
      if (zodSchema === sliceSettings) jsonSchema.required = ['name'];
      const { type = '', items } = jsonSchema;
      // A nested list adds its items to the outer list; they are checked when the file is read.
      if (zodSchema instanceof z.ZodArray && typeof items === 'object' && !Array.isArray(items))
        jsonSchema.items = { anyOf: [items, { type: 'array' }] };
      // Every value that must have a certain form may be a variable, too; a key may not.
      const isBound =
        ['integer', 'number', 'boolean'].some((kind) => kind === type) ||
        ['pattern', 'enum', 'const', 'format'].some((keyword) => keyword in jsonSchema);
      if (!isBound || path.includes('propertyNames')) return;
      const { description: _, default: _standard, ...bound } = jsonSchema;
      for (const keyword of Object.keys(bound)) delete jsonSchema[keyword];
      jsonSchema.anyOf = [bound, { $ref: '#/definitions/variable' }];
    },
  });
  return {
    $schema,
    title: 'ripen.yaml',
    description: 'Configuration of ripen.',
    ...schema,
    patternProperties: {
      '^x-': { description: 'Holds anchors; read where an alias leads to it.' },
    },
    definitions: {
      variable: { type: 'string', pattern: String.raw`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}` },
    },
  };
}

const LINE_WIDTH = 120;

/** Returns YAML that states the same when read again, except for secrets. */
export function resolvedYaml(
  root: Readonly<Record<string, unknown>>,
  notes?: ReadonlyMap<string, string>,
): string {
  const { defaults: _, ...others } = root;
  const service = others['service'] === 'simulator' ? { simulator: {} } : others['service'];
  const document = new Document(resolved(configJsonSchema(), { ...others, service }));
  visit(document, {
    Pair: (_step, { key }, ancestors) => {
      const slice = ancestors.at(-1);
      if (!isScalar(key) || key.value !== 'metrics' || !isMap(slice)) return;
      const note = notes?.get(String(slice.get('name')));
      if (note !== undefined) key.commentBefore = note.replaceAll(/^/gm, ' ');
    },
    Seq: (_key, list) => {
      list.flow = list.items.every((item) => isScalar(item));
    },
    Scalar: (_key, scalar) => {
      // A dollar sign would be read as a variable or as an escape.
      if (typeof scalar.value === 'string')
        scalar.value = scalar.value.replaceAll(/\$(?=[{$])/g, '$$$$');
    },
  });
  return document.toString({ lineWidth: LINE_WIDTH });
}

function resolved(schema: unknown, stated: unknown): unknown {
  if (!isRecord(schema)) return stated;
  const value = stated === undefined ? schema['default'] : stated;
  if (value === undefined || value === null) return value;
  if (schema['writeOnly'] === true)
    return JSON.stringify(value).includes('://') ? 'https://***' : '***';
  const form = itemsOf(schema['anyOf']).find((option) => fits(option, value));
  if (form !== undefined) return resolved(form, value);
  if (Array.isArray(value)) return value.map((item: unknown) => resolved(schema['items'], item));
  if (!isRecord(value)) return value;
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const entries = [...new Set([...Object.keys(properties), ...Object.keys(value)])].map((key) => {
    const inner = Object.hasOwn(properties, key) ? properties[key] : schema['additionalProperties'];
    return [key, resolved(inner, Object.hasOwn(value, key) ? value[key] : undefined)];
  });
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

/** Compares only the kind, and the keys of a mapping, as the value is valid. */
function fits(form: unknown, value: unknown): boolean {
  const { type, anyOf, properties, additionalProperties } = isRecord(form) ? form : {};
  if (Array.isArray(anyOf)) return anyOf.some((option) => fits(option, value));
  if (Array.isArray(value)) return type === 'array';
  if (!isRecord(value)) return type !== 'array' && type !== 'object';
  const known = isRecord(properties) ? properties : {};
  const isOpen = additionalProperties !== false;
  return type === 'object' && (isOpen || Object.keys(value).every((key) => key in known));
}
