/** What the schema of the settings gives besides reading: a JSON Schema for editors, and a configuration as it is understood. */

import { Document, isScalar, visit } from 'yaml';
import * as z from 'zod';

import { isMapping, itemsOf } from './config-problems.ts';
import { isHidden } from './setting-kinds.ts';
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
  if (Array.isArray(value)) return value.map((item: unknown) => nested('', item));
  if (!isMapping(value)) return value;
  if (keyword !== 'properties') return withVariables(value);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, nested('', schema)]));
}

function isBoundScalar(schema: Readonly<Record<string, unknown>>): boolean {
  const { type } = schema;
  if (type === 'string') return ['pattern', 'enum', 'const', 'format'].some((keyword) => keyword in schema);
  return type === 'integer' || type === 'number' || type === 'boolean';
}

const LINE_WIDTH = 120;

/** The YAML of settings that are right, with the defaults in each slice and no secret; read again it states the same, secrets apart. */
export function resolvedYaml(root: Readonly<Record<string, unknown>>): string {
  const { defaults: _, ...others } = root;
  const service = root['service'] === 'simulator' ? { simulator: {} } : root['service'];
  const document = new Document(resolved(settings, { ...others, service }));
  visit(document, {
    Seq: (_key, list) => {
      list.flow = list.items.every((item) => isScalar(item));
    },
    Scalar: (_key, scalar) => {
      // As a variable would be written.
      if (typeof scalar.value === 'string') scalar.value = scalar.value.replaceAll(/\$(?=[{$])/g, '$$$$');
    },
  });
  return document.toString({ lineWidth: LINE_WIDTH });
}

/** A value that a kind accepts, with the defaults of what it does not state; mappings in the order of their block. */
function resolved(kind: unknown, stated: unknown): unknown {
  if (kind instanceof z.ZodType && isHidden(kind)) return String(stated).includes('://') ? 'https://***' : '***';
  if (kind instanceof z.ZodDefault || kind instanceof z.ZodPrefault) {
    return resolved(kind._zod.def.innerType, stated === undefined ? kind._zod.def.defaultValue : stated);
  }
  if (stated === undefined || stated === null) return stated;
  if (kind instanceof z.ZodOptional || kind instanceof z.ZodNullable) return resolved(kind.unwrap(), stated);
  if (kind instanceof z.ZodPipe) return resolved(kind.in, stated);
  if (kind instanceof z.ZodUnion) {
    const form = kind.options.find((option) => z.safeParse(option, stated).success);
    return form === undefined ? stated : resolved(form, stated);
  }
  if (kind instanceof z.ZodArray) return itemsOf(stated).map((item) => resolved(kind.element, item));
  if (!isMapping(stated)) return stated;
  if (kind instanceof z.ZodRecord) {
    return Object.fromEntries(Object.entries(stated).map(([key, value]) => [key, resolved(kind.valueType, value)]));
  }
  if (!(kind instanceof z.ZodObject)) return stated;
  const { shape } = kind;
  const known = Object.entries(shape).map(([key, inner]) => [key, resolved(inner, stated[key])] as const);
  const others = Object.entries(stated).filter(([key]) => !Object.hasOwn(shape, key));
  return Object.fromEntries([...known.filter(([, value]) => value !== undefined), ...others]);
}
