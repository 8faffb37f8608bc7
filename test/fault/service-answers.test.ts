/** Faults, rows 1-7: what the service answers. */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { HttpService } from '../../src/config/config.ts';
import type { SavedBody } from '../../src/service/service.ts';
import {
  type Connection,
  failureFrom,
  json,
  markedToken,
  type Reply,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';
import { useDirectory, useService } from '../support/use-service.ts';

const report = { rows: [{ day: '2026-02-01', installs: '10' }], totals: { installs: 10 }, pagination: null };
let directory: string;
let server: ScriptedServer;
let connection: Connection;

beforeEach(async () => {
  directory = await useDirectory();
});

async function serve(script: Script, overrides: Partial<HttpService> = {}): Promise<Connection> {
  ({ server, connection } = await useService(script, overrides));
  return connection;
}

function ask(name = 'a'): Promise<SavedBody | null> {
  return connection.service.report({ metrics: 'installs' }, join(directory, name), connection.signal);
}

/** These first, and then a report for ever. */
function after(...replies: readonly Reply[]): Script {
  return (_, count) => replies[count - 1] ?? json(report);
}

describe('row 1: one 429', () => {
  test('with Retry-After: 120 is waited out in full', async () => {
    const { clock, service, events } = await serve(after({ status: 429, headers: { 'retry-after': '120' } }));
    expect(await ask()).not.toBeNull();
    expect(clock.slept).toEqual([120_000]);
    expect(service.statistics()).toMatchObject({ requests: 2, retries: 1 });
    expect(events).toContainEqual({
      type: 'request_retried',
      endpoint: 'GET /reports-service/report',
      attempt: 1,
      because: '429',
      waitMs: 120_000,
    });
  });

  test("with a date 90 s after the answer's own Date is waited out for 90 s, whatever this machine's clock says", async () => {
    const headers = { date: 'Sun, 01 Feb 2015 00:00:00 GMT', 'retry-after': 'Sun, 01 Feb 2015 00:01:30 GMT' };
    const { clock } = await serve(after({ status: 429, headers }));
    await ask();
    expect(clock.slept).toEqual([90_000]);
  });

  test('that asks for an hour is waited out for 5 minutes, and one that asks for nothing half fixed, half random', async () => {
    const { clock } = await serve(after({ status: 429, headers: { 'retry-after': '3600' } }, { status: 429 }));
    await ask();
    expect(clock.slept).toEqual([300_000, 1500]);
  });
});

describe('row 2: a storm of 429', () => {
  test('sinks 10 calls to the 2 that are left, all of which succeed in the end, and recovers', async () => {
    let open = 0;
    const { service, events } = await serve(() => {
      if (open >= 2) return { status: 429, afterMs: 5 };
      open += 1;
      return (response) => {
        setTimeout(() => {
          open -= 1;
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(report));
        }, 5);
      };
    });
    const saved = await Promise.all(Array.from({ length: 30 }, (_, index) => ask(String(index))));
    expect(saved.filter((body) => body !== null)).toHaveLength(30);
    const limits = events.flatMap((event) => (event.type === 'concurrency_changed' ? [event.to] : []));
    expect(Math.min(...limits)).toBeLessThanOrEqual(2);
    expect(events).toContainEqual(expect.objectContaining({ type: 'concurrency_changed', because: 'recovery' }));
    expect(server.peak()).toBeLessThanOrEqual(10);
    expect(service.statistics().peakConcurrency).toBe(10);
  });

  test('that never ends stops a call after 12 tries and some five minutes as SOURCE_OVERLOADED', async () => {
    const { clock } = await serve(() => ({ status: 429 }));
    const failure = await failureFrom(ask());
    expect(failure).toMatchObject({ code: 'SOURCE_OVERLOADED', facts: { status: 429, attempts: 12 } });
    expect(server.received).toHaveLength(12);
    const waitedMs = clock.slept.reduce((sum, ms) => sum + ms, 0);
    expect(waitedMs).toBeGreaterThan(4 * 60_000);
    expect(waitedMs).toBeLessThan(6 * 60_000);
  });

  test('does not count against the tries that may fail: 8 times 429 among 5 times 503, then an answer', async () => {
    const statuses = [429, 429, 503, 429, 503, 429, 429, 503, 429, 503, 429, 503, 429];
    await serve(after(...statuses.map((status) => ({ status }))));
    expect(await ask()).not.toBeNull();
    expect(server.received).toHaveLength(14);
  });

  test('does not add to the tries that may fail either: a sixth 503 ends a call that was turned away 3 times', async () => {
    await serve(after(...[429, 503, 429, 503, 429, 503, 503, 503, 503].map((status) => ({ status }))));
    const failure = await failureFrom(ask());
    expect(failure).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { status: 503, attempts: 9 } });
  });

  test('that never ends costs 60 calls no more than the budget of 40 retries', async () => {
    const { service } = await serve(() => ({ status: 429 }));
    const failures = await Promise.all(Array.from({ length: 60 }, (_, index) => failureFrom(ask(String(index)))));
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['SOURCE_OVERLOADED']));
    expect(service.statistics()).toMatchObject({ requests: 100, retries: 40 });
    expect(failures.at(-1)?.message).toContain('budget of 40 retries was used up');
  });

  test('after 10 successes leaves 17 retries where 15 were allowed at first', async () => {
    const { service } = await serve((_, count) => (count <= 10 ? json(report) : { status: 429 }), {
      maxConcurrency: 1,
    });
    for (let count = 0; count < 10; count += 1) await ask();
    for (let count = 0; count < 2; count += 1) await failureFrom(ask());
    expect(service.statistics().retries).toBe(17);
  });
});

describe('row 3: 500, 502, 503, refused, DNS', () => {
  test.each([500, 502, 503])('%i three times costs three retries with full jitter', async (status) => {
    const { clock } = await serve(after({ status }, { status }, { status }));
    expect(await ask()).not.toBeNull();
    expect(clock.slept).toEqual([500, 1000, 2000]);
  });

  test('503 for ever fails a single call after 6 tries as SOURCE_UNAVAILABLE, in the words of the service', async () => {
    await serve(() => ({ status: 503, body: '<html><title>Maintenance</title></html>' }));
    const failure = await failureFrom(ask());
    expect(failure).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { status: 503, attempts: 6, because: '503' } });
    expect(failure.message).toBe('GET /reports-service/report was answered 503: Maintenance (try 6)');
    expect(failure.hint).not.toBeNull();
  });

  test('503 for ever opens the breaker: 40 calls end in few probes, not in 240 requests', async () => {
    const { events } = await serve(() => ({ status: 503 }));
    const failures = await Promise.all(Array.from({ length: 40 }, (_, index) => failureFrom(ask(String(index)))));
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['SOURCE_UNAVAILABLE']));
    // At most the round that was in flight when it opened, and one probe after each of its six waits.
    expect(server.received.length).toBeLessThanOrEqual(10 + 10 + 6);
    expect(events.filter(({ type }) => type === 'breaker_opened')).toHaveLength(6);
    const asked = server.received.length;
    expect((await failureFrom(ask())).message).toContain('stayed unavailable');
    expect(server.received).toHaveLength(asked);
  });

  test('a service that comes back closes the breaker and every call succeeds', async () => {
    const { events } = await serve((_, count) => (count <= 11 ? { status: 502 } : json(report)));
    const saved = await Promise.all(Array.from({ length: 20 }, (_, index) => ask(String(index))));
    expect(saved.filter((body) => body !== null)).toHaveLength(20);
    expect(events).toContainEqual({ type: 'breaker_closed' });
  });

  test('a refused connection fails after 6 tries, naming the origin and ECONNREFUSED', async () => {
    await serve(() => ({}));
    await server.close();
    const failure = await failureFrom(ask());
    expect(failure).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { attempts: 6, because: 'ECONNREFUSED' } });
    expect(failure.message).toContain(`could not reach ${server.origin}`);
  });

  test('a name that DNS does not know fails after 6 tries as SOURCE_UNAVAILABLE', async () => {
    await serve(() => ({}), { reportsUrl: 'http://reports.invalid' });
    expect(await failureFrom(ask())).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { attempts: 6 } });
  });

  test('an outage of the reports host does not stop the campaign API on another origin', async () => {
    await serve(() => json({ data: { items: [{ id: 1 }] } }), { reportsUrl: 'http://127.0.0.1:1' });
    await Promise.all(Array.from({ length: 20 }, (_, index) => failureFrom(ask(String(index)))));
    const page = await connection.service.partners(connection.signal).next();
    expect(page.value).toEqual([{ id: '1', displayName: '', supportsCostData: null }]);
  });
});

describe('row 4: 504, or headers that never come', () => {
  test('504 is SOURCE_TOO_HEAVY at the first try, for the caller to split', async () => {
    await serve(() => ({ status: 504 }));
    expect(await failureFrom(ask())).toMatchObject({ code: 'SOURCE_TOO_HEAVY', facts: { attempts: 1, status: 504 } });
    expect(server.received).toHaveLength(1);
  });

  test('headers that never come are SOURCE_TIMEOUT at the first try, after the deadline of 0.1 s', async () => {
    await serve(() => 'hang', { requestTimeoutMs: 100 });
    const failure = await failureFrom(ask());
    expect(failure).toMatchObject({ code: 'SOURCE_TIMEOUT', facts: { attempts: 1, status: null } });
    expect(failure.message).toBe('GET /reports-service/report did not bring an answer within 0.1 s');
  });
});

describe('row 5: 400', () => {
  test('is not retried and carries the words of the service and the parameter', async () => {
    const body =
      '{"error_code":"request_error","error_desc":"Unsupported metric: x loc=metrics","error_desc_details":null}';
    await serve(() => ({ status: 400, body, gzip: true, headers: { 'content-type': 'application/json' } }));
    const failure = await failureFrom(ask());
    expect(failure.code).toBe('SOURCE_REFUSED');
    expect(failure.message).toContain('was answered 400: request_error: Unsupported metric: x loc=metrics');
    expect(failure.facts).toMatchObject({ status: 400, attempts: 1 });
    expect(server.received).toHaveLength(1);
  });

  test('with an endless body is read to 64 KiB and no further, and the token it echoes is not shown', async () => {
    let sent = 0;
    await serve(() => (response) => {
      response.writeHead(400, { 'content-type': 'text/plain' });
      const flood = (): void => {
        while (!response.destroyed && sent < 100_000_000) {
          sent += 10_000;
          if (!response.write(`bad ${markedToken} `.padEnd(10_000, 'x'))) return void response.once('drain', flood);
        }
      };
      flood();
    });
    const failure = await failureFrom(ask());
    expect(failure.message).toContain('bad *** xxx');
    expect(JSON.stringify(failure.facts)).not.toContain(markedToken);
    expect(sent).toBeLessThan(100_000_000);
  });

  test.each([
    [404, 'SOURCE_MISSING'],
    [410, 'SOURCE_MISSING'],
    [422, 'SOURCE_REFUSED'],
    [418, 'SOURCE_REFUSED'],
  ])('%i halts at the first try as %s, in the words of the service', async (status, code) => {
    await serve(() => ({ status, body: 'teapot' }));
    expect(await failureFrom(ask())).toMatchObject({ code, facts: { status, said: 'teapot', attempts: 1 } });
    expect(server.received).toHaveLength(1);
  });
});

describe('row 6: 403 and redirects', () => {
  test('403 is ACCESS_FORBIDDEN for that call alone', async () => {
    await serve(after({ status: 403 }));
    expect(await failureFrom(ask())).toMatchObject({ code: 'ACCESS_FORBIDDEN', facts: { attempts: 1 } });
    expect(await ask()).not.toBeNull();
  });

  test('a redirect is not followed and named by its origin only', async () => {
    const elsewhere = await startScriptedServer(() => json(report));
    const location = `${elsewhere.origin}/login?ticket=secret`;
    await serve(() => ({ status: 302, headers: { location } }));
    const failure = await failureFrom(ask());
    expect(failure.code).toBe('SOURCE_REDIRECTED');
    expect(failure.message).toContain(`redirected to ${elsewhere.origin} (302)`);
    expect(JSON.stringify([failure.message, failure.facts])).not.toContain('ticket');
    expect(elsewhere.received).toHaveLength(0);
    await elsewhere.close();
  });
});

describe('row 7: 401', () => {
  test('mid-run cancels the queue: of 200 calls only those in flight see it, and later ones fail unsent', async () => {
    const { service } = await serve((_, count) => (count <= 5 ? json(report) : { status: 401, afterMs: 5 }), {
      maxConcurrency: 5,
    });
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, (_, index) => ask(String(index))));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    expect(server.received.length).toBeLessThanOrEqual(10);
    expect(await readdir(directory)).toHaveLength(5);
    const asked = server.received.length;
    const campaign = await failureFrom(service.partners(connection.signal).next());
    expect([(await failureFrom(ask())).code, campaign.code]).toEqual(['CREDENTIALS_REFUSED', 'CREDENTIALS_REFUSED']);
    expect(server.received).toHaveLength(asked);
  });

  test('lets calls that are being answered already finish', async () => {
    await serve((_, count) => (count === 1 ? json(report, { afterMs: 60 }) : { status: 401 }));
    const slow = ask('slow');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await failureFrom(ask('refused'))).toMatchObject({ code: 'CREDENTIALS_REFUSED', facts: { status: 401 } });
    expect(await slow).not.toBeNull();
  });
});
