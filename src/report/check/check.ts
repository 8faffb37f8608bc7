/** Finds everything that is known to be wrong before a sync, and what works. Writes nothing. */

import type { Config } from '../../config/config.ts';
import type { Problem } from '../../config/config-problems.ts';
import { asFailure, Failure, isOfToken, textOf } from '../../errors.ts';
import type { Emit } from '../../events.ts';
import { type Catalog, type CatalogFilter, catalogFilters } from '../../model/catalog.ts';
import { timeoutSignal } from '../../model/duration.ts';
import { countText, namesText } from '../../model/measure.ts';
import { sliceRefusal } from '../../model/slice-refusal.ts';
import { hasStars, type Star, twinsText } from '../../model/stars.ts';
import { withService } from '../../run/circumstances.ts';
import { listedMetrics, starredAt } from '../../warehouse/tables/slice-metrics.ts';
import { withRemedy } from '../terminal/failure-text.ts';
import { wrapped } from '../terminal/table.ts';
import {
  type Checking,
  finding,
  findingOf,
  mergedNotes,
  placeOf,
  type Finding,
} from './finding.ts';
import { placeFindings, reading } from './warehouse.ts';
import { CatalogLists, settingPath, sliceFindings } from './slice.ts';

const NOTE_WIDTH = 100;
/** A dead address is not waited for longer. */
const PATIENCE_MS = 15_000;
const UNREACHABLE =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT)/;

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

/** Checks whether the service answers and accepts the token, and requests its catalog. */
async function requestedService(
  config: Config,
  checking: Checking,
  emit: Emit,
): Promise<{ readonly findings: readonly Finding[]; readonly catalog: Catalog }> {
  const { stated, at, signal } = checking;
  const unreachable = new AbortController();
  const ended = AbortSignal.any([signal, unreachable.signal, timeoutSignal(PATIENCE_MS)]);
  let reason = 'no answer';
  const listening: Emit = (event) => {
    emit(event);
    if (event.type !== 'request_retried') return;
    reason = event.because;
    // An unreachable host is not tried again; a service that answers is, as it may only be busy.
    if (UNREACHABLE.test(reason)) unreachable.abort();
  };
  const answered = async <T>(
    setting: 'reports_url' | 'base_url',
    request: () => Promise<T>,
  ): Promise<{ readonly value: T | null; readonly findings: readonly Finding[] }> => {
    try {
      return { value: await request(), findings: [] };
    } catch (thrown) {
      signal.throwIfAborted();
      const what = setting === 'reports_url' ? 'filters-data' : 'The campaign API';
      const waited = `did not answer (${reason}), waited for at most ${PATIENCE_MS / 1000} s`;
      const { code, message, hint } = ended.aborted
        ? new Failure('SOURCE_UNAVAILABLE', `${what} ${waited}`, {
            hint: `Check service.${setting} and the network.`,
          })
        : asFailure(thrown);
      const failure = await withRemedy({ code, message, hint }, config);
      const token =
        stated.valueAt(['service', 'token_file']) === undefined ? 'token' : 'token_file';
      const place = placeOf(stated, ['service', isOfToken(failure) ? token : setting]);
      return { value: null, findings: [finding(code, failure.message, failure.hint, place)] };
    }
  };
  try {
    return await withService(config, { planAt: at, emit: listening }, async (service) => {
      const wantsCampaign = config.partners || config.links !== null;
      const [{ value: catalog, findings }, campaign] = await Promise.all([
        answered('reports_url', async () =>
          service.filtersData({ filters: catalogFilters }, ended),
        ),
        // The campaign API has an address of its own; its shortest list shows whether it answers.
        wantsCampaign ? answered('base_url', async () => service.partners(ended).next()) : null,
      ]);
      const others = campaign?.findings ?? [
        finding('untried', 'the campaign API, as partners and links are off'),
      ];
      // Both APIs use one token; a refusal is reported once.
      const isRefused = ({ code }: Finding) => code === 'CREDENTIALS_REFUSED';
      const news = findings.some(isRefused) ? others.filter((each) => !isRefused(each)) : others;
      const sizeOf = (list: CatalogFilter) =>
        catalog?.filter(({ filter }) => filter === list).length ?? 0;
      const counts = `${countText(sizeOf('apps'), 'app')}, ${countText(sizeOf('partners'), 'partner')}`;
      const works =
        catalog === null ? [] : [finding('works', 'token accepted'), finding('works', counts)];
      const all = [...findings, ...news, ...works, finding('untried', 'a report, ad spend')];
      return { findings: all, catalog: catalog ?? [] };
    });
  } catch (thrown) {
    signal.throwIfAborted();
    // There was no connection. The certificate file is the only setting that is read this late.
    const failure = findingOf(thrown);
    const path = failure.code === 'CONFIG_INVALID' ? ['service', 'ca_file'] : ['service'];
    return { findings: [{ ...failure, ...placeOf(stated, path) }], catalog: [] };
  }
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
