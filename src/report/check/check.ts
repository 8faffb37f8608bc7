/** Finds everything that is known to be wrong before a sync, and what works. Writes nothing. */

import type { Config } from '../../config/config.ts';
import type { Problem } from '../../config/config-problems.ts';
import { asFailure, Failure, isOfToken, textOf } from '../../errors.ts';
import { type Emit, failedEvent } from '../../events.ts';
import { type CatalogFilter, catalogFilters } from '../../model/catalog.ts';
import { timeoutSignal } from '../../model/duration.ts';
import { countText, namesText } from '../../model/measure.ts';
import { sliceRefusal } from '../../model/slice-refusal.ts';
import { hasStars, type Star, twinsText } from '../../model/stars.ts';
import { withService } from '../../run/circumstances.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
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
    finding('CONFIG_INVALID', text, null, { setting: key || null, place }),
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
  const starredIn = async (warehouse: Warehouse | null) =>
    starredAt(warehouse, config.slices, [...lists.metrics], at);
  const starred = await reading(config.warehouse, starredIn).catch(async () => starredIn(null));
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
async function requestedService(config: Config, checking: Checking, emit: Emit) {
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
  const failed = new Map<string, Finding>();
  const answered = async <T>(setting: 'reports_url' | 'base_url', request: () => Promise<T>) => {
    try {
      return await request();
    } catch (thrown) {
      signal.throwIfAborted();
      const what = setting === 'reports_url' ? 'filters-data' : 'The campaign API';
      const waited = `${what} did not answer (${reason}), waited for at most ${PATIENCE_MS / 1000} s`;
      const failure = ended.aborted
        ? new Failure('SOURCE_UNAVAILABLE', waited, {
            hint: `Check service.${setting} and the network.`,
          })
        : asFailure(thrown);
      const { code, message, hint } = await withRemedy(failedEvent(failure), config);
      const isInFile = stated.valueAt(['service', 'token_file']) !== undefined;
      const token = isInFile ? 'token_file' : 'token';
      const place = placeOf(stated, ['service', isOfToken({ code, message }) ? token : setting]);
      failed.set(setting, finding(code, message, hint, place));
      return null;
    }
  };
  try {
    return await withService(config, { planAt: at, emit: listening }, async (service) => {
      const wantsCampaign = config.partners || config.links !== null;
      const [catalog] = await Promise.all([
        answered('reports_url', async () =>
          service.filtersData({ filters: catalogFilters }, ended),
        ),
        // The campaign API has an address of its own; its shortest list shows whether it answers.
        wantsCampaign ? answered('base_url', async () => service.partners(ended).next()) : null,
      ]);
      const findings = ['reports_url', 'base_url'].flatMap((setting) => failed.get(setting) ?? []);
      // Both APIs use one token; a refusal is reported once.
      if (findings.every(({ code }) => code === 'CREDENTIALS_REFUSED')) findings.splice(1);
      if (!wantsCampaign)
        findings.push(finding('untried', 'the campaign API, as partners and links are off'));
      if (catalog !== null) {
        const countOf = (list: CatalogFilter, noun: string) =>
          countText(catalog.filter(({ filter }) => filter === list).length, noun);
        const counts = `${countOf('apps', 'app')}, ${countOf('partners', 'partner')}`;
        findings.push(finding('works', 'token accepted'), finding('works', counts));
      }
      findings.push(finding('untried', 'a report, ad spend'));
      return { findings, catalog: catalog ?? [] };
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
    const notes = starred.map(({ slice, stars }) => {
      const lines = stars.map((star) =>
        wrapped(`${standsFor(star)}: ${star.metrics.join(', ')}`, NOTE_WIDTH),
      );
      return [slice.name, lines.join('\n')] as const;
    });
    return new Map(notes);
  }).catch((thrown: unknown) => noteAll(`what * stands for is unknown: ${textOf(thrown)}`));
}
