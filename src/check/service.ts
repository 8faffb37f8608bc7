/** The service as `check` requests it: whether it answers and accepts the token, and its catalog. */

import type { Config } from '../config/config.ts';
import type { StatedSettings } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Catalog } from '../model/catalog.ts';
import { withService } from '../run/circumstances.ts';
import { withRemedy } from '../terminal/failure-text.ts';
import { countText } from '../terminal/measure.ts';
import { finding, findingOf, type Finding, placeOf } from './finding.ts';
import { checkedFilters } from './catalog-lists.ts';

/** A service that is there sends the first bytes of a list within this; a dead address keeps nobody longer. */
const PATIENCE_MS = 9000;
const LOOK_MS = 250;
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

/** Requests the catalog and, where partners or links are wanted, the campaign API; both at once. */
export async function requestedService(
  config: Config,
  { stated, at, signal }: Checking,
  emit: Emit,
): Promise<ServiceFindings> {
  const silence = new AbortController();
  const findings: Finding[] = [];
  /** What the first try that failed ended with. */
  let because: string | null = null;
  let watch: NodeJS.Timeout | undefined;
  const listening: Emit = (event) => {
    emit(event);
    if (event.type !== 'request_retried') return;
    ({ because } = event);
    // A host that cannot be reached is not tried twice; a service that answers is, as it may only be busy.
    if (UNREACHABLE.test(event.because)) silence.abort();
  };
  const answered = async <T>(
    setting: AddressSetting,
    request: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | null> => {
    try {
      return await request(AbortSignal.any([signal, silence.signal]));
    } catch (thrown) {
      signal.throwIfAborted();
      const why = silence.signal.aborted ? unanswered(setting, because ?? 'no answer') : thrown;
      const refused = await refusalFinding(why, setting, config, stated);
      // One token opens both APIs; that it does not is reported once.
      const isKnown = findings.some(({ code }) => code === 'CREDENTIALS_REFUSED' && refused.code === code);
      if (!isKnown) findings.push(refused);
      return null;
    }
  };
  try {
    return await withService(config, { planAt: at, emit: listening }, async (service) => {
      let [bytes, lastAt] = [0, Date.now()];
      watch = setInterval(() => {
        const received = service.statistics().bytes;
        // Answers that are requested again are no progress.
        if (received > bytes && because === null) lastAt = Date.now();
        bytes = received;
        if (Date.now() - lastAt >= PATIENCE_MS) silence.abort();
      }, LOOK_MS);
      const wantsCampaign = config.partners || config.links !== null;
      const [catalog] = await Promise.all([
        answered('reports_url', async (ended) => service.filtersData({ filters: checkedFilters }, ended)),
        // The campaign API lies at an address of its own; its shortest list shows whether it answers.
        wantsCampaign ? answered('base_url', async (ended) => service.partners(ended).next()) : null,
      ]);
      const untried = wantsCampaign ? [] : [finding('untried', 'the campaign API, as partners and links are off')];
      const works = catalog === null ? [] : workFindings(catalog);
      return {
        findings: [...findings.toSorted(byAddress), ...untried, ...works, finding('untried', 'a report, ad spend')],
        catalog: catalog ?? [],
      };
    });
  } catch (thrown) {
    signal.throwIfAborted();
    // Why there was no connection to request on: of its settings only the certificate file is looked at that late.
    const found = findingOf(thrown);
    const path = found.code === 'CONFIG_INVALID' ? ['service', 'ca_file'] : ['service'];
    return { findings: [{ ...found, ...placeOf(stated, path) }], catalog: [] };
  } finally {
    clearInterval(watch);
  }
}

type AddressSetting = 'reports_url' | 'base_url';

/** The reports before the campaign API, whichever failed first. */
const byAddress = (one: Finding, other: Finding): number => (other.setting ?? '').localeCompare(one.setting ?? '');

function workFindings(catalog: Catalog): Finding[] {
  const of = (list: string): number => catalog.filter(({ filter }) => filter === list).length;
  const counts = `${countText(of('apps'), 'app')}, ${countText(of('partners'), 'partner')}`;
  return [finding('works', 'token accepted'), finding('works', counts)];
}

/** Why nothing was answered at the address that was requested. */
async function refusalFinding(
  thrown: unknown,
  setting: AddressSetting,
  config: Config,
  stated: StatedSettings,
): Promise<Finding> {
  const { code, ...bare } = findingOf(thrown);
  const found = code === null ? { ...bare, code } : await withRemedy({ ...bare, code }, config);
  const token = stated.valueAt(['service', 'token_file']) === undefined ? 'token' : 'token_file';
  const path = ['service', code === 'CREDENTIALS_REFUSED' ? token : setting];
  const hint = isExample(stated.valueAt(path)) ? `Put your own address into service.${setting}.` : found.hint;
  return { ...found, hint, ...placeOf(stated, path) };
}

function unanswered(setting: AddressSetting, because: string): Failure {
  const message =
    setting === 'reports_url'
      ? `filters-data did not answer (${because}), so no slice was compared with it`
      : `The campaign API did not answer (${because})`;
  return new Failure('SOURCE_UNAVAILABLE', message, { hint: `Check service.${setting} and the network.` });
}

/** An address as `ripen init` writes it; nobody can have such a name (RFC 2606). */
const isExample = (value: unknown): boolean => typeof value === 'string' && /\/\/[^/]*\bexample\.com\b/.test(value);
