/** Finds everything that is known to be wrong before a sync, and what works. Writes nothing. */

import type { Config } from '../../config/config.ts';
import type { Problem } from '../../config/config-problems.ts';
import { textOf } from '../../errors.ts';
import type { Emit } from '../../events.ts';
import { sliceRefusal } from '../../model/slice-refusal.ts';
import { hasStars, type Star, twinsText } from '../../model/stars.ts';
import { countText, namesText } from '../../model/measure.ts';
import { listedMetrics, starredAt } from '../../warehouse/tables/slice-metrics.ts';
import { wrapped } from '../terminal/table.ts';
import { finding, mergedNotes, placeOf, type Finding } from './finding.ts';
import { placeFindings, reading } from './warehouse.ts';
import { type Checking, requestedService } from './service.ts';
import { CatalogLists, settingPath, sliceFindings } from './slice.ts';

const NOTE_WIDTH = 100;

export function problemFindings(problems: readonly Problem[]): Finding[] {
  const errors = problems.map(({ place, key, text }) =>
    finding('CONFIG_INVALID', text, null, { setting: key === '' ? null : key, place }),
  );
  const untried = 'the service, the warehouse and the slices, as the configuration is wrong';
  return [...errors, finding('untried', untried)];
}

export async function findingsOf(
  config: Config,
  checking: Checking,
  emit: Emit,
): Promise<Finding[]> {
  const { stated, at } = checking;
  const service = await requestedService(config, checking, emit);
  const lists = new CatalogLists(service.catalog);
  const listed = [...lists.metrics];
  const starred = await reading(config.warehouse, async (warehouse) =>
    starredAt(warehouse, config.slices, listed, at),
  ).catch(async () => starredAt(null, config.slices, listed, at));
  const slices = starred.map(({ slice }) => slice);

  const ofSlices: Finding[] = [];
  const refused = new Set<string | null>();
  for (const [index, slice] of config.slices.entries()) {
    const refusal = sliceRefusal(slice, service.catalog);
    if (refusal !== null) {
      const path = settingPath({ slice, index, stated, lists }, refusal.setting);
      const place = placeOf(stated, path, slice.name);
      ofSlices.push(finding('CONFIG_INVALID', refusal.message, refusal.hint, place));
      refused.add(slice.name);
      continue;
    }
    const place = placeOf(stated, ['slices', index, 'metrics'], slice.name);
    const stars = starred[index]?.stars ?? [];
    for (const star of stars)
      ofSlices.push(finding('note', `${standsFor(star)}: ${namesText(star.metrics)}`, null, place));
    const twins = twinsText(stars);
    if (twins !== null) ofSlices.push(finding('warning', twins, null, place));
  }
  for (const [index, slice] of slices.entries())
    ofSlices.push(...sliceFindings({ slice, index, stated, lists }, at));

  const loadable = slices.filter(({ metrics }) => metrics.every((name) => lists.metrics.has(name)));
  const names = new Set(loadable.flatMap(({ metrics }) => metrics));
  const works = `${countText(loadable.length, 'slice')}, ${countText(names.size, 'metric')} known`;
  if (lists.metrics.size === 0)
    ofSlices.push(finding('untried', 'the names in the slices, as filters-data listed no metric'));
  else if (loadable.length > 0) ofSlices.push(finding('works', works));

  // The plan of a refused slice would be refused for the same reason.
  const places = (await placeFindings({ ...config, slices }, checking)).filter(
    ({ code, slice }) => code !== 'CONFIG_INVALID' || !refused.has(slice),
  );
  return mergedNotes([...places, ...service.findings, ...ofSlices]);
}

const standsFor = ({ pattern, metrics }: Star) =>
  `${pattern} stands for ${countText(metrics.length, 'metric')}`;

export async function starNotes({ warehouse, slices }: Config): Promise<Map<string, string>> {
  const ofStars = slices.filter(hasStars);
  const noteAll = (note: string) => new Map(ofStars.map(({ name }) => [name, note]));
  return reading(warehouse, async (opened) => {
    const listed = opened === null ? [] : await listedMetrics(opened);
    if (listed.length === 0) return noteAll('what * stands for is known after the first sync');
    const starred = await starredAt(opened, ofStars, listed, new Date());
    const notes = starred.map(({ slice, stars }): [string, string] => {
      const lines = stars.map((star) => `${standsFor(star)}: ${star.metrics.join(', ')}`);
      return [slice.name, lines.map((line) => wrapped(line, NOTE_WIDTH)).join('\n')];
    });
    return new Map(notes);
  }).catch((thrown: unknown) => noteAll(`what * stands for is unknown: ${textOf(thrown)}`));
}
