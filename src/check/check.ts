/** Everything that can be known to be wrong before a sync, at once; writes nothing. */

import type { Config } from '../config/config.ts';
import { type Inspection } from '../config/read-config.ts';
import { leftToService } from '../config/report-settings.ts';
import { unplacedSettings } from '../config/stated-settings.ts';
import type { Emit } from '../events.ts';
import type { Catalog } from '../model/catalog.ts';
import { isMetricItem, metricsOf } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import { hasStars, starRefusal, starsOf, withStars } from '../model/stars.ts';
import { countText } from '../terminal/measure.ts';
import { catalogLists, type CatalogLists } from '../check/catalog-lists.ts';
import { placeFindings } from '../check/places.ts';
import { formRemarks, scheduleRemarks } from '../check/schedule.ts';
import { askedService, type ServiceFindings } from '../check/service.ts';
import { sliceRemarks } from '../check/slice.ts';
import { pathOf, type CheckedSlice } from '../check/checked-slice.ts';
import { placed, toldOnce, type Finding, type Remark } from '../check/finding.ts';

/** Everything wrong or odd about a readable configuration: places, service, token and every slice. */
export async function findingsOf(config: Config, at: Date, emit: Emit, signal: AbortSignal): Promise<Finding[]> {
  return inspected({ problems: [], config, stated: unplacedSettings }, at, emit, signal);
}

/** The same of a configuration as its file states it, with its mistakes. */
export async function inspected(inspection: Inspection, at: Date, emit: Emit, signal: AbortSignal): Promise<Finding[]> {
  const { config, stated } = inspection;
  const isServiceSound = stated.isSound(['service']);
  const asked = isServiceSound ? askedService({ config, stated, at, emit }, signal) : Promise.resolve(unasked);
  const isStarred = config.slices.some(hasStars);
  const understood = isStarred ? asked.then(({ catalog }) => starredConfig(config, catalog)) : Promise.resolve(config);
  const [places, service] = await Promise.all([
    understood.then(async (known) => placeFindings(known, { at, stated, signal })),
    asked,
  ]);
  const lists = catalogLists(service.catalog);
  return toldOnce([
    ...problemFindings(inspection),
    ...placed(clockRemarks(at), null, stated),
    ...places,
    ...service.findings,
    ...sliceFindings(inspection, lists, service.catalog, at),
    ...placed(linkRemarks(config, lists), null, stated),
  ]);
}

/** An instant that was stated is looked at before; what is later than the clock is the simulator's. */
function clockRemarks(at: Date): Remark[] {
  const now = new Date();
  if (at <= now) return [];
  const message = `${at.toISOString()} is later than the clock, ${now.toISOString()}, and no run plans for what has not come`;
  const hint = 'Set an instant in the past, or leave it out.';
  return [{ severity: 'error', code: 'AS_OF_IN_FUTURE', path: ['service', 'simulator', 'now'], message, hint }];
}

const unasked: ServiceFindings = {
  findings: [
    {
      severity: 'note',
      code: null,
      slice: null,
      setting: 'service',
      place: null,
      message: 'nothing was asked, as its settings are wrong; no name was held against filters-data',
      hint: null,
    },
  ],
  catalog: [],
};

function problemFindings({ problems }: Inspection): Finding[] {
  return problems.map(({ place, key, text }) => ({
    severity: 'error',
    code: 'CONFIG_INVALID',
    slice: null,
    setting: key === '' ? null : key,
    place,
    message: text,
    hint: null,
  }));
}

function sliceFindings(inspection: Inspection, lists: CatalogLists, catalog: Catalog, at: Date): Finding[] {
  const { config, stated } = inspection;
  const metricItems = catalog.filter(isMetricItem);
  const listed = new Set(metricItems.map(({ id }) => id));
  return config.slices.flatMap((unread, index) => {
    const slice = withStars(unread, listed);
    const checked = { slice, index, stated };
    const metrics = metricsOf(slice, metricItems);
    const remarks = [
      ...(listed.size === 0 ? [] : starRemarks(checked, unread, listed)),
      ...sliceRemarks(checked, lists),
      ...scheduleRemarks(checked, metrics, at),
      ...formRemarks(
        checked,
        metrics.filter(({ id }) => listed.has(id)),
      ),
      ...leftRemarks(checked),
    ];
    return placed(remarks, stated.isSound(['slices', index, 'name']) ? slice.name : null, stated);
  });
}

/** The configuration with what its stars stand for. */
function starredConfig(config: Config, catalog: Catalog): Config {
  const listed = catalog.filter(isMetricItem).map(({ id }) => id);
  return { ...config, slices: config.slices.map((slice) => withStars(slice, listed)) };
}

/** More names make a message longer, not clearer. */
const MOST_NAMES = 5;

/** What each star of a slice stands for, or why it cannot be loaded with that. */
function starRemarks({ index }: CheckedSlice, slice: Slice, listed: ReadonlySet<string>): Remark[] {
  const path = ['slices', index, 'metrics'];
  const refusal = starRefusal(slice, listed);
  if (refusal !== null) return [{ severity: 'error', code: 'CONFIG_INVALID', path, ...refusal }];
  return starsOf(slice, listed).map(({ pattern, metrics }) => {
    const more = metrics.length > MOST_NAMES ? ` and ${metrics.length - MOST_NAMES} more` : '';
    const message = `${pattern} stands for ${countText(metrics.length, 'metric')}: ${metrics.slice(0, MOST_NAMES).join(', ')}${more}`;
    return { severity: 'note', path: [...path, slice.metrics.indexOf(pattern)], message, hint: null };
  });
}

/** Leaving this one out has doubled a report against the dashboard (observed: reattributed). */
const DOUBLING = 'reattributed';

function leftRemarks(checked: CheckedSlice): Remark[] {
  const left = leftToService(checked.slice);
  const others = left.filter((parameter) => parameter !== DOUBLING);
  const path = pathOf(checked);
  const doubling: Remark = {
    severity: 'warning',
    path,
    message: `${DOUBLING} is left to the service's own default, which may count reattributed users twice`,
    hint: `State ${DOUBLING}: all, true or false, in the slice or under defaults.`,
  };
  const note: Remark = {
    severity: 'note',
    path,
    message: `left to the service's own default: ${others.join(', ')}`,
    hint: null,
  };
  return [...(left.includes(DOUBLING) ? [doubling] : []), ...(others.length > 0 ? [note] : [])];
}

function linkRemarks({ links }: Config, lists: CatalogLists): Remark[] {
  const apps = lists.of('apps');
  if (links === null || links.apps === 'all' || apps.isEmpty) return [];
  const tokens = links.apps;
  return tokens.flatMap((token, index): Remark[] => {
    if (apps.has(token)) return [];
    const near = apps.nearest(token);
    const hint = near === null || tokens.includes(near) ? null : `Did you mean ${near}?`;
    return [
      { severity: 'warning', path: ['links', 'apps', index], message: `filters-data listed no app ${token}`, hint },
    ];
  });
}
