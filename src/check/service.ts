/** The service as `check` requests it: whether it answers and accepts the token, and its catalog. */

import type { SettingPath } from '../config/config-problems.ts';
import type { Config } from '../config/config.ts';
import type { StatedSettings } from '../config/read-config.ts';
import { Failure } from '../errors.ts';
import type { Emit, RunEvent } from '../events.ts';
import type { Catalog } from '../model/catalog.ts';
import { withService } from '../run/circumstances.ts';
import { withRemedy } from '../terminal/explain.ts';
import { countText, groupedText } from '../terminal/measure.ts';
import { finding, findingOf, type Finding } from './finding.ts';
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

interface ServiceCheck {
  readonly config: Config;
  readonly stated: StatedSettings;
  readonly at: Date;
  readonly emit: Emit;
}

/** Requests the catalog and, where partners or links are wanted, the campaign API; both at once. */
export async function requestedService(check: ServiceCheck, signal: AbortSignal): Promise<ServiceFindings> {
  const { config, stated, at, emit } = check;
  const ended = new AbortController();
  let because = 'no answer';
  let hasFailed = false;
  let watch: NodeJS.Timeout | undefined;
  // A host that cannot be reached is not tried twice; a service that answers is, as it may only be busy.
  const once = (event: RunEvent): void => {
    emit(event);
    if (event.type !== 'request_retried') return;
    because = event.because;
    hasFailed = true;
    if (UNREACHABLE.test(because)) ended.abort();
  };
  const trying: Trying = {
    config,
    stated,
    outer: signal,
    signal: AbortSignal.any([signal, ended.signal]),
    because: () => because,
  };
  try {
    return await withService(config, at, once, async (service) => {
      let [bytes, lastAt] = [0, Date.now()];
      watch = setInterval(() => {
        const received = service.statistics().bytes;
        // Answers that are requested again are no progress.
        if (received > bytes && !hasFailed) lastAt = Date.now();
        bytes = received;
        if (Date.now() - lastAt >= PATIENCE_MS) ended.abort();
      }, LOOK_MS);
      const wantsCampaign = config.partners || config.links !== null;
      const [reports, campaign] = await Promise.all([
        orFinding(trying, 'reports_url', async () => service.filtersData({ filters: checkedFilters }, trying.signal)),
        // The campaign API lies at an address of its own; its shortest list shows whether it answers.
        wantsCampaign
          ? orFinding(trying, 'base_url', async () => service.partners(trying.signal).next())
          : { answer: null, findings: [finding('untried', 'the campaign API, as partners and links are off')] },
      ]);
      const catalog = reports.answer ?? [];
      return {
        findings: [
          ...oneRefusal([...reports.findings, ...campaign.findings]),
          ...(reports.answer === null ? [] : workFindings(catalog)),
          finding('untried', 'a report, ad spend'),
        ],
        catalog,
      };
    });
  } catch (thrown) {
    signal.throwIfAborted();
    return { findings: [unopened(thrown, stated)], catalog: [] };
  } finally {
    clearInterval(watch);
  }
}

function workFindings(catalog: Catalog): Finding[] {
  const of = (list: string): number => catalog.filter(({ filter }) => filter === list).length;
  const counts = `${countText(of('apps'), 'app')}, ${groupedText(of('partners'))} partner${of('partners') === 1 ? '' : 's'}`;
  return [finding('works', 'token accepted'), finding('works', counts)];
}

/** Why there was no connection to request on: of its settings only the certificate file is looked at that late. */
function unopened(thrown: unknown, stated: StatedSettings): Finding {
  const found = findingOf(thrown);
  const path = found.code === 'CONFIG_INVALID' ? ['service', 'ca_file'] : ['service'];
  return { ...found, setting: path.join('.'), place: stated.placeOf(path, 'value') };
}

interface Trying {
  readonly config: Config;
  readonly stated: StatedSettings;
  readonly outer: AbortSignal;
  readonly signal: AbortSignal;
  /** What the first try ended with. */
  readonly because: () => string;
}

/** What was answered, or why nothing was, at the address that was requested. */
async function orFinding<T>(
  { config, stated, outer, signal, because }: Trying,
  setting: 'reports_url' | 'base_url',
  request: () => Promise<T>,
): Promise<{ readonly answer: T | null; readonly findings: readonly Finding[] }> {
  try {
    return { answer: await request(), findings: [] };
  } catch (thrown) {
    outer.throwIfAborted();
    const bare = findingOf(signal.aborted ? unanswered(setting, because()) : thrown);
    const found = bare.code === null ? bare : { ...bare, ...(await withRemedy({ ...bare, code: bare.code }, config)) };
    const path = found.code === 'CREDENTIALS_REFUSED' ? tokenPath(stated) : ['service', setting];
    const hint = isExample(stated.valueAt(path)) ? `Put your own address into service.${setting}.` : found.hint;
    const place = stated.placeOf(path, 'value');
    return { answer: null, findings: [{ ...found, hint, setting: path.join('.'), place }] };
  }
}

function unanswered(setting: 'reports_url' | 'base_url', because: string): Failure {
  const what = setting === 'reports_url' ? 'filters-data, so that no slice was compared with it' : 'the campaign API';
  return new Failure('SOURCE_UNAVAILABLE', `Nothing came from ${what} (${because})`, {
    hint: `Check service.${setting} and the network.`,
  });
}

/** An address as `ripen init` writes it; nobody can have such a name (RFC 2606). */
const isExample = (value: unknown): boolean => typeof value === 'string' && /\/\/[^/]*\bexample\.com\b/.test(value);

const tokenPath = (stated: StatedSettings): SettingPath => [
  'service',
  stated.valueAt(['service', 'token_file']) === undefined ? 'token' : 'token_file',
];

/** One token opens both APIs; that it does not is reported once. */
function oneRefusal(findings: readonly Finding[]): Finding[] {
  const first = findings.findIndex(({ code }) => code === 'CREDENTIALS_REFUSED');
  return findings.filter(({ code }, index) => code !== 'CREDENTIALS_REFUSED' || index === first);
}
