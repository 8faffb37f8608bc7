/** The service as `check` asks it: whether it answers and lets in, and its catalog; within a patience of its own. */

import { faultWarnings } from '../catalog/refresh-catalog.ts';
import type { SettingPath } from '../config/config-problems.ts';
import type { Config } from '../config/config.ts';
import type { StatedSettings } from '../config/stated-settings.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { metricFilterNames, type Catalog, type CatalogFilter } from '../model/catalog.ts';
import type { Service } from '../service/service.ts';
import { valueFilters } from './values.ts';
import { findingOf, type Finding } from './finding.ts';
import { withService } from '../run/service-in-use.ts';

/** A service that is there sends the first bytes of a list within this; a dead address keeps nobody longer. */
const PATIENCE_MS = 9_000;
const LOOK_MS = 250;

/** Every list of filters-data that a slice is held against. */
const checkedFilters: readonly CatalogFilter[] = [
  ...new Set([...metricFilterNames, 'dimensions' as const, ...valueFilters]),
];

export interface ServiceFindings {
  readonly findings: readonly Finding[];
  /** Empty when filters-data did not answer. */
  readonly catalog: Catalog;
}

export interface ServiceCheck {
  readonly config: Config;
  readonly stated: StatedSettings;
  readonly at: Date;
  readonly emit: Emit;
}

/** Asks for the catalog and, where partners or links are wanted, the campaign API; both at once, each finding told once. */
export async function askedService(check: ServiceCheck, signal: AbortSignal): Promise<ServiceFindings> {
  const { config, at } = check;
  const wait = new Patience(check.emit, signal);
  try {
    return await withService(config, at, wait.emit, async (service) => {
      wait.begin(service);
      const wantsCampaign = config.partners || config.links !== null;
      const [reports, campaign] = await Promise.all([
        orFinding(check, wait, 'reports_url', async () =>
          service.filtersData({ filters: checkedFilters }, wait.signal),
        ),
        wantsCampaign
          ? // The campaign API lies at an address of its own; its shortest list shows whether it answers.
            orFinding(check, wait, 'base_url', async () => service.partners(wait.signal).next())
          : null,
      ]);
      const findings = [...reports.findings, ...(campaign?.findings ?? [])];
      return {
        findings: [...oneRefusal(findings), ...faultWarnings(reports.answer?.faults ?? []).map(faultFinding)],
        catalog: reports.answer?.items ?? [],
      };
    });
  } catch (thrown) {
    signal.throwIfAborted();
    return { findings: [unopened(thrown, check.stated)], catalog: [] };
  } finally {
    wait.end();
  }
}

/** Why there was no connection to ask on: of its settings only the certificate file is looked at that late. */
function unopened(thrown: unknown, stated: StatedSettings): Finding {
  const found = findingOf(thrown);
  const path = found.code === 'CONFIG_INVALID' ? ['service', 'ca_file'] : ['service'];
  return { ...found, setting: path.join('.'), place: stated.placeOf(path, 'value') };
}

interface Asked<T> {
  readonly answer: T | null;
  readonly findings: readonly Finding[];
}

/** What was answered, or why nothing was, at the address that was asked. */
async function orFinding<T>(
  { stated }: ServiceCheck,
  wait: Patience,
  setting: 'reports_url' | 'base_url',
  ask: () => Promise<T>,
): Promise<Asked<T>> {
  try {
    return { answer: await ask(), findings: [] };
  } catch (thrown) {
    wait.outer.throwIfAborted();
    const found = findingOf(wait.signal.aborted ? wait.failure(setting) : thrown);
    const path = found.code === 'CREDENTIALS_REFUSED' ? tokenPath(stated) : ['service', setting];
    const hint = isExample(stated.valueAt(path)) ? `Put your own address into service.${setting}.` : found.hint;
    return {
      answer: null,
      findings: [{ ...found, hint, setting: path.join('.'), place: stated.placeOf(path, 'value') }],
    };
  }
}

/** An address as `ripen init` writes it; nobody can have such a name (RFC 2606). */
const isExample = (value: unknown): boolean => typeof value === 'string' && /\/\/[^/]*\bexample\.com\b/.test(value);

const tokenPath = (stated: StatedSettings): SettingPath => [
  'service',
  stated.valueAt(['service', 'token_file']) === undefined ? 'token' : 'token_file',
];

/** One token opens both APIs; that it does not is told once. */
function oneRefusal(findings: readonly Finding[]): Finding[] {
  const first = findings.findIndex(({ code }) => code === 'CREDENTIALS_REFUSED');
  return findings.filter(({ code }, index) => code !== 'CREDENTIALS_REFUSED' || index === first);
}

function faultFinding({ code, message }: ReturnType<typeof faultWarnings>[number]): Finding {
  const kept = code === 'CATALOG_ITEM_MALFORMED' ? 'the other items were taken' : 'no slice was checked against that';
  const place = { code: null, slice: null, setting: null, place: null, hint: null } as const;
  return { severity: 'warning', ...place, message: `${message}; ${kept}` };
}

/** Ends the asking when nothing has come for a while: retries that come to nothing are no sign of life. */
class Patience {
  readonly outer: AbortSignal;
  readonly signal: AbortSignal;
  readonly #ended = new AbortController();
  readonly #emit: Emit;
  #timer: NodeJS.Timeout | null = null;
  #because = 'no answer';
  #hasFailed = false;

  constructor(emit: Emit, outer: AbortSignal) {
    this.#emit = emit;
    this.outer = outer;
    this.signal = AbortSignal.any([outer, this.#ended.signal]);
  }

  readonly emit: Emit = (event) => {
    if (event.type === 'request_retried') {
      this.#hasFailed = true;
      this.#because = event.because;
    }
    this.#emit(event);
  };

  begin(service: Service): void {
    let bytes = 0;
    let lastAt = Date.now();
    this.#timer = setInterval(() => {
      const received = service.statistics().bytes;
      if (received > bytes && !this.#hasFailed) lastAt = Date.now();
      bytes = received;
      if (Date.now() - lastAt >= PATIENCE_MS) this.#ended.abort();
    }, LOOK_MS);
  }

  failure(setting: 'reports_url' | 'base_url'): Failure {
    const seconds = PATIENCE_MS / 1000;
    const what = setting === 'reports_url' ? 'filters-data, so that no slice was held against it' : 'the campaign API';
    return new Failure('SOURCE_UNAVAILABLE', `Nothing came for ${seconds}s from ${what} (${this.#because})`, {
      hint: `Check service.${setting} and the network.`,
    });
  }

  end(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }
}
