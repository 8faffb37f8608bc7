/** Derives a JSON Schema for editors, and the configuration as ripen understands it, from the settings' schema. */

import { Document, isScalar, visit } from 'yaml';
import * as z from 'zod';

import { isMapping, itemsOf } from './config-problems.ts';
import { isHidden } from './setting-kinds.ts';
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

/** Returns settings as YAML that states the same when read again, except for secrets. */
export function resolvedYaml(root: Readonly<Record<string, unknown>>): string {
  const { defaults: _, ...others } = root;
  const service = root['service'] === 'simulator' ? { simulator: {} } : root['service'];
  const document = new Document(resolved(settings, { ...others, service }));
  visit(document, {
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

function resolved(kind: unknown, stated: unknown): unknown {
  if (kind instanceof z.ZodType && isHidden(kind))
    return String(stated).includes('://') ? 'https://***' : '***';
  if (kind instanceof z.ZodDefault || kind instanceof z.ZodPrefault) {
    return resolved(
      kind._zod.def.innerType,
      stated === undefined ? kind._zod.def.defaultValue : stated,
    );
  }
  if (stated === undefined || stated === null) return stated;
  if (kind instanceof z.ZodOptional || kind instanceof z.ZodNullable)
    return resolved(kind.unwrap(), stated);
  if (kind instanceof z.ZodPipe) return resolved(kind.in, stated);
  if (kind instanceof z.ZodUnion) {
    const form = kind.options.find((option) => z.safeParse(option, stated).success);
    return form === undefined ? stated : resolved(form, stated);
  }
  if (kind instanceof z.ZodArray)
    return itemsOf(stated).map((item) => resolved(kind.element, item));
  if (!isMapping(stated)) return stated;
  if (kind instanceof z.ZodRecord) {
    return Object.fromEntries(
      Object.entries(stated).map(([key, value]) => [key, resolved(kind.valueType, value)]),
    );
  }
  if (!(kind instanceof z.ZodObject)) return stated;
  const { shape } = kind;
  const known = Object.entries(shape).map(
    ([key, inner]) => [key, resolved(inner, stated[key])] as const,
  );
  const others = Object.entries(stated).filter(([key]) => !Object.hasOwn(shape, key));
  return Object.fromEntries([...known.filter(([, value]) => value !== undefined), ...others]);
}
