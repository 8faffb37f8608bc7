/** A slice's settings, with the defaults under them → the slice that is planned, asked for and loaded. */

import { dateDimensions } from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import { parameterNames, statedDefaults, type ParameterValue, type ReportSettings } from './report-settings.ts';
import { utcOffset } from './setting-kinds.ts';
import type { DefaultsSettings, SliceSettings } from './slice-settings.ts';

/** A horizon is counted from the end of a period; this is what the service takes to settle then. */
const SETTLE_MS = 3_600_000;

/** Lifetime values change for ever; after this they are left alone, still maturing. */
const LIFETIME_MS = 120 * 86_400_000;

/** What an age that is skipped may leave out, as a share of the final total. */
const TOLERANCE = 0.01;

const UTC = utcOffset.parse('+00:00');

/** The slice, complete. */
export function buildSlice(settings: SliceSettings, defaults: DefaultsSettings): Slice {
  const parameters = wireParameters(settings, defaults);
  const horizons = { ...defaults.horizons, ...settings.horizons };
  return {
    name: settings.name,
    dimensions: settings.dimensions,
    metrics: settings.metrics,
    grain: dateDimensions.find((dimension) => settings.dimensions.includes(dimension)) ?? null,
    datePeriod: settings.date_period,
    utcOffset: settings.utc_offset ?? defaults.utc_offset ?? UTC,
    parameters,
    refresh: refreshOf(settings, defaults),
    horizons: [...patternsOf(settings.horizons), ...patternsOf(defaults.horizons)],
    settleMs: horizons.settle ?? SETTLE_MS,
    lifetimeMs: horizons.lifetime ?? LIFETIME_MS,
    types: settings.types ?? {},
    additive: settings.additive ?? {},
    completeness: settings.completeness ?? defaults.completeness ?? 'require',
    retainDays: settings.retain ?? defaults.retain ?? null,
    maxRejects: settings.max_rejects ?? defaults.max_rejects ?? 0,
  };
}

function refreshOf(settings: SliceSettings, defaults: DefaultsSettings): Slice['refresh'] {
  const refresh = settings.refresh ?? defaults.refresh ?? 'milestones';
  return refresh === 'adaptive' ? { tolerance: settings.tolerance ?? defaults.tolerance ?? TOLERANCE } : refresh;
}

/** Every report parameter but those that planning decides, as the text that goes on the wire, sorted by name. */
function wireParameters(settings: SliceSettings, defaults: DefaultsSettings): Readonly<Record<string, string>> {
  const stated: Readonly<Record<string, string>> = { ...statedDefaults, ...ownWords(defaults), ...ownWords(settings) };
  return Object.fromEntries(
    Object.keys(stated)
      .sort()
      .map((name) => [name, stated[name] ?? '']),
  );
}

/** What one level of the settings itself says of report parameters. */
function ownWords(settings: ReportSettings): Readonly<Record<string, string>> {
  const values: [string, ParameterValue | undefined][] = [
    ...parameterNames.map((name): [string, ParameterValue | undefined] => [name, settings[name]]),
    ...Object.entries(settings.filters ?? {}),
    ...Object.entries(settings.extra_parameters ?? {}),
  ];
  return Object.fromEntries(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, wireText(value)]])));
}

/** The service's lists are joined by commas; it has no escape for one, which is why values hold none. */
const wireText = (value: ParameterValue): string => (Array.isArray(value) ? value.join(',') : String(value));

function patternsOf(horizons: DefaultsSettings['horizons']): Slice['horizons'] {
  return Object.entries(horizons ?? {}).flatMap(([pattern, horizonMs]) =>
    pattern === 'settle' || pattern === 'lifetime' || horizonMs === undefined ? [] : [{ pattern, horizonMs }],
  );
}
