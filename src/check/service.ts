/** The service as `check` requests it: whether it answers and accepts the token, and its catalog. */

import type { Config } from '../config/config.ts';
import type { StatedSettings } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { type Catalog, catalogFilters } from '../model/catalog.ts';
import { withService } from '../run/circumstances.ts';
import { withRemedy } from '../terminal/failure-text.ts';
import { countText } from '../terminal/measure.ts';
import { finding, findingOf, type Finding, placeOf } from './finding.ts';

/** A service that is there sends the lists within this; a dead address keeps nobody longer. */
const PATIENCE_MS = 15_000;
/** How the system and the HTTP client call a host that cannot be reached. */
const UNREACHABLE = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT)/;

export interface ServiceFindings {
  readonly findings: readonly Finding[];
  /** Empty when filters-data did not answer. */
  readonly catalog: Catalog;
}

/** What is checked, and what ends the check. */
export interface Checking {
  /** The instant the check plans for. */
  readonly at: Date;
  /** Where each setting stands. */
  readonly stated: StatedSettings;
  readonly signal: AbortSignal;
}

/** What was answered at an address; null, with the reason found, for nothing. */
interface Answer<T> {
  readonly value: T | null;
  readonly findings: readonly Finding[];
}

/** Requests the catalog and, where partners or links are wanted, the campaign API; both at once. */
export async function requestedService(config: Config, checking: Checking, emit: Emit): Promise<ServiceFindings> {
  const { stated, at, signal } = checking;
  const unreachable = new AbortController();
  const ended = AbortSignal.any([signal, unreachable.signal, AbortSignal.timeout(PATIENCE_MS)]);
  let because = 'no answer';
  const listening: Emit = (event) => {
    emit(event);
    if (event.type !== 'request_retried') return;
    ({ because } = event);
    // A host that cannot be reached is not tried twice; a service that answers is, as it may only be busy.
    if (UNREACHABLE.test(because)) unreachable.abort();
  };
  const answered = async <T>(setting: AddressSetting, request: () => Promise<T>): Promise<Answer<T>> => {
    try {
      return { value: await request(), findings: [] };
    } catch (thrown) {
      signal.throwIfAborted();
      const found = findingOf(ended.aborted ? unanswered(setting, because) : thrown);
      const token = stated.valueAt(['service', 'token_file']) === undefined ? 'token' : 'token_file';
      const place = placeOf(stated, ['service', found.code === 'CREDENTIALS_REFUSED' ? token : setting]);
      return { value: null, findings: [{ ...(await withRemedy(found, config)), ...place }] };
    }
  };
  try {
    return await withService(config, { planAt: at, emit: listening }, async (service) => {
      const wantsCampaign = config.partners || config.links !== null;
      const [{ value: catalog, findings }, campaign] = await Promise.all([
        answered('reports_url', async () => service.filtersData({ filters: catalogFilters }, ended)),
        // The campaign API lies at an address of its own; its shortest list shows whether it answers.
        wantsCampaign ? answered('base_url', async () => service.partners(ended).next()) : null,
      ]);
      const others = campaign?.findings ?? [finding('untried', 'the campaign API, as partners and links are off')];
      // One token opens both APIs; that it does not is reported once.
      const isRefused = ({ code }: Finding): boolean => code === 'CREDENTIALS_REFUSED';
      const news = findings.some(isRefused) ? others.filter((each) => !isRefused(each)) : others;
      const works = catalog === null ? [] : workFindings(catalog);
      const found = [...findings, ...news, ...works, finding('untried', 'a report, ad spend')];
      return { findings: found, catalog: catalog ?? [] };
    });
  } catch (thrown) {
    signal.throwIfAborted();
    // Why there was no connection to request on: of its settings only the certificate file is looked at that late.
    const found = findingOf(thrown);
    const path = found.code === 'CONFIG_INVALID' ? ['service', 'ca_file'] : ['service'];
    return { findings: [{ ...found, ...placeOf(stated, path) }], catalog: [] };
  }
}

type AddressSetting = 'reports_url' | 'base_url';

function workFindings(catalog: Catalog): Finding[] {
  const of = (list: string): number => catalog.filter(({ filter }) => filter === list).length;
  const counts = `${countText(of('apps'), 'app')}, ${countText(of('partners'), 'partner')}`;
  return [finding('works', 'token accepted'), finding('works', counts)];
}

function unanswered(setting: AddressSetting, because: string): Failure {
  const what = setting === 'reports_url' ? 'filters-data' : 'The campaign API';
  const message = `${what} did not answer (${because}), waited for at most ${PATIENCE_MS / 1000} s`;
  return new Failure('SOURCE_UNAVAILABLE', message, { hint: `Check service.${setting} and the network.` });
}
