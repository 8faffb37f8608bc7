/** The functions of the library, called wrongly, stopped, and listened to by what fails: each rejects with a `Failure` that says what to do. */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import * as ripen from '../../src/index.ts';
import { textWith } from '../support/matching.ts';
import { startScriptedServer } from '../support/scripted-server.ts';

const NIGHT = new Date('2026-02-14T02:30:00Z');

let directory = '';
let config: ripen.Config;
/** The verbs as a caller without types sees them. */
const untyped = Object.fromEntries(
  Object.entries(ripen).flatMap(([name, value]) =>
    typeof value === 'function' && /^[a-z]/.test(name) && !['parseDay', 'exitCodeOf'].includes(name)
      ? [[name, async (...given: unknown[]): Promise<unknown> => Reflect.apply(value, null, given)]]
      : [],
  ),
);
const call = async (verb: string, ...given: unknown[]): Promise<unknown> =>
  untyped[verb]?.(...given);

/** A configuration in a file of its own, read. */
async function configured(name: string, service: string, more = ''): Promise<ripen.Config> {
  const file = join(directory, `${name}.yaml`);
  const slice =
    '{ name: daily, dimensions: [day], metrics: [installs], date_period: "-9d:yesterday", reattributed: all }';
  const text = `service: ${service}\nwarehouse: ${name}-w.duckdb\npartners: false\nslices: [${slice}]\n${more}`;
  await writeFile(file, text);
  return ripen.readConfig({ directory, file, environment: {} });
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-calls-'));
  const service = '{ simulator: { seed: 3, apps: 1, rows_per_day: 20, partners: 3, links: 3 } }';
  config = await configured('ripen', service, 'publish: [{ delta: tables }]\n');
  await ripen.sync(config, { asOf: NIGHT });
});
afterAll(() => rm(directory, { recursive: true }));

/** What a call rejects with; fails where it is no `Failure` with code, message and hint. */
async function failureOf(calling: Promise<unknown>): Promise<ripen.Failure> {
  const thrown = await calling.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ripen.Failure))
    throw new Error(`no failure, but ${String(thrown)}`, { cause: thrown });
  expect(thrown.message).not.toBe('');
  expect(thrown.hint).not.toBeNull();
  return thrown;
}

describe('an argument that its type allows and its function cannot use is USAGE_INVALID, which names it', () => {
  test.each<[verb: string, options: object, said: string]>([
    ['exportRows', { output: 'x.csv' }, 'no slice or table to write'],
    ['exportRows', { slice: 'daily', output: 'x.csv', format: 'xlsx' }, 'xlsx is none'],
    ['lakeDdl', { engine: 'toString' }, 'engine toString'],
    ['sync', { slices: ['dayly'] }, 'dayly'],
    ['drop', { slice: 'dayly', agree: true }, 'dayly'],
    ['sync', { slices: [] }, 'No slice was named'],
    ['sync', { deadlineMs: -1 }, 'deadlineMs was -1'],
    ['status', { lockWaitMs: Number.NaN }, 'lockWaitMs was NaN'],
    ['plan', { asOf: new Date(Number.NaN) }, 'asOf was Invalid Date'],
    [
      'backfill',
      { slice: 'daily', days: { start: '2026-02-03', end: '2026-02-03' } },
      'ended before 2026-02-03',
    ],
  ])('%s with %j: %s', async (verb, options, said) => {
    const failure = await failureOf(call(verb, config, options));
    expect(failure).toMatchObject({ code: 'USAGE_INVALID', message: textWith(said) });
  });
});

describe('a signal that stops the work', () => {
  const verbs: Record<string, (config: ripen.Config, signal: AbortSignal) => Promise<unknown>> = {
    catalog: async (of, signal) => ripen.catalog(of, { signal }),
    partners: async (of, signal) => ripen.partners(of, { signal }),
    links: async (of, signal) => ripen.links(of, { app: 'abc123def456', signal }),
    createLink: async (of, signal) =>
      ripen.createLink(of, { app: 'abc123def456', name: 'X', signal }),
  };
  const servedBy = (origin: string): Promise<ripen.Config> =>
    configured('other', `{ base_url: "${origin}", reports_url: "${origin}", token: marked }`);

  test.each(Object.keys(verbs))(
    '%s, while nothing is answered, rejects with INTERRUPTED',
    async (name) => {
      const server = await startScriptedServer(() => 'hang');
      const calling = verbs[name]?.(await servedBy(server.origin), AbortSignal.timeout(300));
      expect(await failureOf(calling ?? Promise.resolve())).toMatchObject({
        code: 'INTERRUPTED',
        kind: 'interrupted',
      });
    },
  );

  test('status, sync and drop, while they wait for the warehouse, reject with INTERRUPTED', async () => {
    const [ended, requested] = [new AbortController(), new AbortController()];
    const agree = async (): Promise<boolean> => {
      requested.abort();
      await once(ended.signal, 'abort');
      return false;
    };
    const dropping = ripen.drop(config, { slice: 'daily', agree });
    await once(requested.signal, 'abort');
    for (const verb of ['status', 'sync', 'drop']) {
      const stop = new AbortController();
      const emit: ripen.Emit = ({ type }) => void (type === 'lock_waiting' && stop.abort());
      setTimeout(() => stop.abort(), 2000);
      const calling = call(verb, config, {
        slice: 'daily',
        agree: true,
        signal: stop.signal,
        emit,
      });
      expect([verb, await failureOf(calling)]).toMatchObject([verb, { code: 'INTERRUPTED' }]);
    }
    ended.abort();
    await dropping;
  });
});

describe('functions of the caller that fail', () => {
  test.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('not my day');
      },
      'not my day',
    ],
    ['rejects', async () => Promise.reject(new Error('not my day')), 'not my day'],
    ['rejects with what has no text', async () => Promise.reject(Object.create(null)), ''],
  ])('a listener that %s changes nothing, and is warned of once', async (_, fail, words) => {
    const heard: ripen.RunEvent[] = [];
    const emit = (event: ripen.RunEvent): unknown => {
      heard.push(event);
      return fail();
    };
    expect(await ripen.sync(config, { asOf: NIGHT, emit })).toMatchObject({
      status: 'succeeded',
      failures: [],
    });
    const warned = heard.filter(({ type }) => type === 'warning');
    expect(warned).toMatchObject([{ code: 'LISTENER_FAILED', message: textWith(words) }]);
  });

  test('only true agrees to a drop, and a stream that fails is for its caller to mend', async () => {
    const held = (await ripen.dropLoss(config, { slice: 'daily' })).rows;
    for (const answer of ['false', 'yes', 1, {}, undefined]) {
      const dropping = call('drop', config, { slice: 'daily', agree: async () => answer });
      expect(await dropping).toMatchObject({ dropped: null });
    }
    expect((await ripen.dropLoss(config, { slice: 'daily' })).rows).toBe(held);
    const stream = new Writable({
      write: (_chunk, _encoding, done) => done(new Error('sink broke')),
    });
    const broken = await failureOf(
      ripen.exportRows(config, { slice: 'daily', output: '-', format: 'csv', stream }),
    );
    expect(broken).toMatchObject({ code: 'STORAGE_FAILED', message: textWith('sink broke') });
  });
});
