/** A configuration as it is understood, as YAML: everything expanded, every default stated, no secret. */

import { Document, isScalar, visit } from 'yaml';
import * as z from 'zod';

import { isMapping, itemsOf } from './plain-values.ts';
import { KEPT, PUBLISHED_MODE } from './publish-settings.ts';
import { statedDefaults } from './report-settings.ts';
import { httpSettings, simulatorOptions } from './service-settings.ts';
import { linksSettings, notified, settings } from './settings.ts';
import { horizons, sliceSettings } from './slice-settings.ts';

const LINE_WIDTH = 120;
const HIDDEN = '***';

/** The YAML of settings that are right, with the defaults in each slice; read again it states the same, secrets apart. */
export function resolvedYaml(root: Readonly<Record<string, unknown>>): string {
  const { service, links, notify, publish, slices, defaults: _, ...others } = withStandards(settings, root);
  const document = new Document({
    service: resolvedService(service),
    ...others,
    publish: itemsOf(publish).map(resolvedTarget),
    notify: (isMapping(notify) ? [notify] : itemsOf(notify)).map((each) =>
      Object.assign(withStandards(notified, each), { url: `https://${HIDDEN}` }),
    ),
    links: isMapping(links) ? withStandards(linksSettings, links) : links,
    slices: itemsOf(slices).map(resolvedSlice),
  });
  visit(document, {
    Seq: (_, list) => {
      list.flow = list.items.every((item) => isScalar(item));
    },
    Scalar: (_, scalar) => {
      // As a variable would be written.
      if (typeof scalar.value === 'string') scalar.value = scalar.value.replaceAll(/\$(?=[{$])/g, '$$$$');
    },
  });
  return document.toString({ lineWidth: LINE_WIDTH });
}

/** The settings of a block, those that are not stated as their defaults say; in the order of the block. */
function withStandards({ shape }: { readonly shape: z.core.$ZodLooseShape }, stated: unknown): Record<string, unknown> {
  const values = isMapping(stated) ? stated : {};
  const entries = Object.entries(shape).map(([key, schema]) => [key, values[key] ?? standardOf(schema)] as const);
  const known = entries.filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(known), ...values };
}

const standardOf = (schema: unknown): unknown =>
  schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ? schema._zod.def.defaultValue : undefined;

function resolvedService(service: unknown): unknown {
  if (!isMapping(service)) return { simulator: withStandards(simulatorOptions, {}) };
  if ('simulator' in service) return { simulator: withStandards(simulatorOptions, service['simulator']) };
  const { token, headers, cost_headers: costHeaders, ...others } = withStandards(httpSettings, service);
  return {
    ...others,
    ...(token === undefined ? {} : { token: HIDDEN }),
    ...(headers === undefined ? {} : { headers: hidden(headers, (value) => isMapping(value)) }),
    ...(costHeaders === undefined ? {} : { cost_headers: hidden(costHeaders, () => true) }),
  };
}

/** Headers without the values of those that are secret. */
function hidden(headers: unknown, isSecret: (value: unknown) => boolean): object {
  const entries = Object.entries(isMapping(headers) ? headers : {});
  return Object.fromEntries(entries.map(([name, value]) => [name, isSecret(value) ? { secret: HIDDEN } : value]));
}

/** What means nothing for a target is no part of it. */
function resolvedTarget(target: unknown): object {
  const stated = isMapping(target) ? target : {};
  const isStore = ['delta', 'parquet'].some((kind) => String(stated[kind]).startsWith('s3://'));
  return {
    ...stated,
    ...('delta' in stated ? { keep: stated['keep'] ?? KEPT } : {}),
    ...(isStore ? {} : { mode: stated['mode'] ?? PUBLISHED_MODE }),
  };
}

function resolvedSlice(slice: unknown): object {
  const { name, dimensions, metrics, cohorts, date_period: period, ...others } = withStandards(sliceSettings, slice);
  return {
    name,
    dimensions,
    ...(cohorts === undefined ? { metrics } : { cohorts }),
    date_period: period,
    ...statedDefaults,
    ...others,
    horizons: withStandards(horizons, others['horizons']),
  };
}
