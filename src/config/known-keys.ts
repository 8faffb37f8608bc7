/** Which keys a mapping at some place of the settings may have, asked of the schema itself. */

import { z } from 'zod';

import type { SettingPath } from './config-problems.ts';

/** The keys known at a place, in declared order; of alternatives all. Empty where any key is allowed, or none. */
export function knownKeys(schema: z.core.$ZodType, path: SettingPath): string[] {
  const mappings = path.reduce<z.core.$ZodType[]>(
    (schemas, step) => schemas.flatMap((at) => childrenOf(at, step)),
    [...alternativesOf(schema)],
  );
  return [...new Set(mappings.flatMap((at) => (at instanceof z.ZodObject ? Object.keys(at.shape) : [])))];
}

function childrenOf(schema: z.core.$ZodType, step: string | number): z.core.$ZodType[] {
  if (schema instanceof z.ZodArray) return alternativesOf(schema.element);
  if (schema instanceof z.ZodRecord) return alternativesOf(schema.valueType);
  if (!(schema instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
  const child = Object.hasOwn(shape, step) ? shape[step] : undefined;
  return child === undefined ? [] : alternativesOf(child);
}

/** The schemas a value may match once defaults and options are unwrapped. */
function alternativesOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return alternativesOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return alternativesOf(schema.in);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(alternativesOf);
  return [schema];
}
