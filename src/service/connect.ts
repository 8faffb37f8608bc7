/** Puts connections, headers, lanes and channels together. */

import type { HttpService } from '../config/config.ts';
import { Secret } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { version } from '../config/version.ts';
import { campaignApi } from './campaign.ts';
import { Channel, type ChannelSettings, type Wire } from './call.ts';
import { type Clock, realClock } from './clock.ts';
import { openDispatcher } from './dispatcher.ts';
import { requestFiltersData } from './filters-data.ts';
import { requestReport } from './report.ts';
import type { Service } from './service.ts';
import { submitSpend } from './spend.ts';

/** The limit of ad spend is not documented. This is enough for a file of thousands of lines. */
const COST_CONCURRENCY = 4;
/** A small call that takes longer will not be answered. */
const SMALL_CALL_MS = 120_000;

/** Sends nothing yet. Throws `CONFIG_INVALID` if the certificate file cannot be read. */
export function connect(config: HttpService, emit: Emit, clock: Clock = realClock): Service {
  const closing = new AbortController();
  const { maxConcurrency, campaignConcurrency, maxStartsPerSecond, requestTimeoutMs } = config;
  const connections = maxConcurrency + campaignConcurrency + COST_CONCURRENCY;
  const { caFile, proxy = null } = config;
  const wire: Wire = {
    dispatcher: openDispatcher(connections, requestTimeoutMs, caFile, proxy),
    clock,
    emit,
    maxConcurrency,
    tally: { requests: 0, retries: 0, bytes: 0, skewMs: null, lastSetback: null },
    life: closing.signal,
    maxStartsPerSecond,
  };
  const tokenRefused = new AbortController();
  const channel = (address: string, pace: Pace, credentials: Headers, refused = tokenRefused) => {
    const headers: Record<string, string> = {
      'user-agent': `ripen/${version}`,
      accept: 'application/json',
      // A cached answer would be taken for the current one, and its numbers for final.
      'cache-control': 'no-cache',
    };
    const configured = Object.entries(config.headers);
    for (const [name, value] of [...configured, ...Object.entries(credentials)])
      headers[name.toLowerCase()] = typeof value === 'string' ? value : value.reveal();
    // Only gzip is decoded.
    headers['accept-encoding'] = 'gzip';
    return new Channel(wire, { ...pace, address, headers, refused });
  };
  const small = {
    deadlineMs: Math.min(SMALL_CALL_MS, requestTimeoutMs),
    isDeadlineFixed: requestTimeoutMs >= SMALL_CALL_MS,
  };
  const tokenAs = (form: string) => ({
    authorization: new Secret(`${form}${config.token.reveal()}`),
  });
  const { baseUrl, reportsUrl, costUrl } = config;
  const ofReports = {
    concurrency: maxConcurrency,
    deadlineMs: requestTimeoutMs,
    isDeadlineFixed: false,
  };
  const reports = channel(reportsUrl, ofReports, tokenAs('Bearer '));
  const ofCampaign = { ...small, concurrency: campaignConcurrency };
  const campaign = channel(baseUrl, ofCampaign, tokenAs('Token token='));
  const ofCost = { ...small, concurrency: COST_CONCURRENCY };
  const cost =
    costUrl === null ? null : channel(costUrl, ofCost, config.costHeaders, new AbortController());

  return {
    report: (request, signal) => requestReport(reports, request, config.maxResponseBytes, signal),
    filtersData: (request, signal) => requestFiltersData(reports, request, signal),
    ...campaignApi(campaign),
    async submitSpend(line, signal) {
      if (cost !== null) return submitSpend(cost, line, signal);
      throw new Failure('CONFIG_INVALID', 'No address of the ad spend API is configured', {
        hint: 'Set service.cost_url and service.cost_headers.',
      });
    },
    statistics: () => {
      const { requests, retries, bytes, lastSetback } = wire.tally;
      return { requests, retries, peakConcurrency: reports.peak, bytes, lastSetback };
    },
    clockSkewMs: () => wire.tally.skewMs,
    close: async () => {
      closing.abort(new Failure('BUG', 'The connection was used after it was closed'));
      await wire.dispatcher.destroy();
    },
  };
}

type Headers = HttpService['headers'];
type Pace = Pick<ChannelSettings, 'concurrency' | 'deadlineMs' | 'isDeadlineFixed'>;
