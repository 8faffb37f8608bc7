/** Checks whether the service answers and accepts the token, and requests its catalog. */

import type { Config } from '../../config/config.ts';
import type { StatedSettings } from '../../config/read-config.ts';
import { asFailure, Failure, isOfToken } from '../../errors.ts';
import type { Emit } from '../../events.ts';
import { type Catalog, type CatalogFilter, catalogFilters } from '../../model/catalog.ts';
import { timeoutSignal } from '../../model/duration.ts';
import { withService } from '../../run/circumstances.ts';
import { withRemedy } from '../terminal/failure-text.ts';
import { countText } from '../../model/measure.ts';
import { finding, findingOf, type Finding, placeOf } from './finding.ts';

/** A dead address is not waited for longer. */
const PATIENCE_MS = 15_000;
const UNREACHABLE =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT)/;

export interface Checking {
  readonly at: Date;
  readonly stated: StatedSettings;
  readonly signal: AbortSignal;
}

export async function requestedService(
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
