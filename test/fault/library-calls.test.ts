/** The functions of the library, called wrongly, stopped, and listened to by what fails: each rejects with a `Failure` that says what to do. */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Writable } from 'node:stream';
import { runInNewContext } from 'node:vm';

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

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-calls-'));
  await writeFile(
    join(directory, 'ripen.yaml'),
    `service: { simulator: { seed: 3, apps: 1, rows_per_day: 20, partners: 3, links: 3 } }
warehouse: w.duckdb
publish: [{ delta: tables }]
partners: false
slices: [{ name: daily, dimensions: [day], metrics: [installs], date_period: "-9d:yesterday", reattributed: all }]
`,
  );
  config = await ripen.readConfig({ directory, environment: {} });
  await ripen.sync(config, { asOf: NIGHT });
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

/** What a call rejects with; fails where it is no `Failure` with code, message and hint. */
async function failureOf(call: Promise<unknown>): Promise<ripen.Failure> {
  const thrown = await call.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ripen.Failure)) throw new Error(`no failure, but ${String(thrown)}`, { cause: thrown });
  expect(thrown.message).not.toBe('');
  expect(thrown.hint).not.toBeNull();
  return thrown;
}

const days = { start: '2026-02-10', end: '2026-02-12' };

describe('an argument that is not what it must be is USAGE_INVALID, which names it', () => {
  test.each<[verb: string, options: object | null, said: string]>([
    ['sync', { deadlineMs: -1 }, 'deadlineMs was -1'],
    ['sync', { deadlineMs: Number.NaN }, 'deadlineMs was NaN'],
    ['sync', { lockWaitMs: -5 }, 'lockWaitMs was -5'],
    ['sync', { asOf: new Date('x') }, 'asOf was an invalid Date'],
    ['sync', { asOf: '2026-02-14' }, 'asOf was "2026-02-14"'],
    ['sync', { slices: 'daily' }, 'slices was "daily"'],
    [
      'sync',
      { emit: 'console.log', signal: {} },
      'The option emit was "console.log". The option signal was an object.',
    ],
    ['sync', { metricsFile: 7, mode: 0o1777 }, 'metricsFile was 7'],
    ['sync', null, 'The options were null'],
    ['plan', { asOf: new Date('x') }, 'asOf'],
    ['status', { asOf: new Date('x') }, 'asOf'],
    ['backfill', { slice: 'daily' }, 'days was not given'],
    ['backfill', { slice: 'daily', days: { start: null, end: '2026-02-12' } }, 'days was an object'],
    ['backfill', { slice: 'daily', days: { start: '2026-02-12', end: '2026-02-12' } }, 'days'],
    ['backfill', { slice: 'daily', days: { start: '2026-2-1', end: '2026-2-5' } }, 'days'],
    ['backfill', { days }, 'slice was not given'],
    ['exportRows', {}, 'output was not given'],
    ['exportRows', { output: 'x.csv' }, 'nothing to write'],
    ['exportRows', { slice: 'daily', output: 'x.csv', from: 'foo' }, 'from was "foo"'],
    ['exportRows', { slice: 'daily', output: 'x.csv', to: '2026-02-30' }, 'to was "2026-02-30"'],
    ['exportRows', { slice: 'daily', output: 'x.csv', format: 'xlsx' }, 'format xlsx'],
    ['exportRows', { slice: 'daily', output: '-', format: 'csv', stream: 'stdout' }, 'stream was "stdout"'],
    ['drop', {}, 'slice was not given'],
    ['drop', { slice: 'daily' }, 'agree was not given'],
    ['drop', { slice: 'daily', before: 'foo', agree: true }, 'before was "foo"'],
    ['drop', { slice: 'daily', agree: false }, 'agree was false'],
    ['dropLoss', { slice: 'daily', before: 20260210 }, 'before was 20260210'],
    ['lakeDdl', {}, 'engine was not given'],
    ['lakeDdl', { engine: 'oracle' }, 'engine oracle'],
    ['lakeDdl', { engine: 'toString' }, 'engine toString'],
    ['catalog', { word: 5 }, 'word was 5'],
    ['catalog', { section: 'zz' }, 'section was "zz"'],
    ['links', {}, 'app was not given'],
    ['namesakes', { app: 'abc' }, 'name was not given'],
    ['createLink', { app: 'abc' }, 'name was not given'],
    ['updateLink', { app: 'abc', link: 'l', costData: 'yes' }, 'costData was "yes"'],
    ['sendSpend', {}, 'file was not given'],
  ])('%s with %j: %s', async (verb, options, said) => {
    const failure = await failureOf(untyped[verb]?.(config, options) ?? Promise.resolve());
    expect(failure).toMatchObject({ code: 'USAGE_INVALID', message: textWith(said) });
  });

  test.each(['sync', 'backfill', 'replay', 'plan', 'status', 'check', 'publish', 'exportRows'])(
    '%s as of a mistyped year, for which the slice would begin before 1970: nothing is planned or loaded',
    async (verb) => {
      const given = { slice: 'daily', days, output: join(directory, 'never.csv') };
      for (const year of ['0000', '0026', '1969']) {
        const asOf = new Date(`${year}-02-14T02:30:00Z`);
        const failure = await failureOf(untyped[verb]?.(config, { ...given, asOf }) ?? Promise.resolve());
        expect(failure).toMatchObject({
          code: 'USAGE_INVALID',
          message: textWith('was too early: it lay before 1970-01-01'),
        });
      }
      const cut = await failureOf(
        untyped[verb]?.(config, { ...given, asOf: new Date('1970-01-09T02:30:00Z') }) ?? Promise.resolve(),
      );
      expect(cut.message).toContain('slice daily would begin on 1969-12-31, before 1970-01-01');
      expect(existsSync(join(directory, 'never.csv'))).toBe(false);
    },
  );

  test('an instant at which the slice begins in 1970 is taken, and what was loaded stays planned as it was', async () => {
    const before = await ripen.plan(config, { asOf: NIGHT });
    const old = await ripen.plan(config, { asOf: new Date('1970-01-10T02:30:00Z') });
    expect(old.slices[0]?.windows[0]?.first_day).toBe('1970-01-01');
    expect(await ripen.plan(config, { asOf: NIGHT })).toStrictEqual(before);
  });

  test.each(['init', 'demo', 'readConfig'])('%s without a directory', async (verb) => {
    const failure = await failureOf(untyped[verb]?.() ?? Promise.resolve());
    expect(failure).toMatchObject({ code: 'USAGE_INVALID' });
    expect(failure.message).toContain('directory was not given');
  });

  test.each<[options: object, said: string]>([
    [{ port: 'x' }, 'port was "x"'],
    [{ port: 65_536 }, 'port was 65536'],
    [{ world: null }, 'world was null'],
    [{ world: { seed: 'x' } }, 'world was an object'],
    [{ world: { apps: -1 } }, 'world was an object'],
    [{ world: { rowsPerDay: 'many' } }, 'world was an object'],
    [{ world: { toString: 1 } }, 'world was an object'],
    [{ now: 'x' }, 'now was "x"'],
    [{ token: 5, costCredential: 6 }, 'costCredential was 6. The option token was 5'],
    [{ world: { quirks: {} } }, 'world was an object'],
  ])('startSimulator with %j: %s', async (options, said) => {
    const failure = await failureOf(untyped['startSimulator']?.(options) ?? Promise.resolve());
    expect(failure).toMatchObject({ code: 'USAGE_INVALID', message: textWith(said) });
    expect(existsSync('x')).toBe(false);
  });

  test('a simulator given undefined, or every option, is one', async () => {
    const usual = await ripen.startSimulator(
      Object.fromEntries(['port', 'world', 'now', 'token', 'costCredential'].map((name) => [name, undefined])),
    );
    await usual.close();
    expect(Object.keys(usual)).toStrictEqual(['url', 'port', 'now', 'setNow', 'close']);
    const { port } = usual;
    expect(usual.url).toBe(`http://127.0.0.1:${port}`);
    const world = { seed: 2, apps: 1, partners: 1, links: 0, rowsPerDay: 1 };
    const every = await ripen.startSimulator({ world, port, now: NIGHT, token: 't', costCredential: 'c' });
    expect(every.now()).toStrictEqual(NIGHT);
    every.setNow(new Date(NIGHT.getTime() + 1));
    expect(every.now().getTime()).toBe(NIGHT.getTime() + 1);
    await every.close();
  });

  test('a spend file is found from the working directory, and its rejects lie beside it', async () => {
    const file = join(directory, 'spend.csv');
    await writeFile(file, 'cost_id,cost_type,cost_currency,cost_amount,tag\nshort,cpi,USD,1,summer\n');
    const { rejected, rejects_file: rejects } = await ripen.sendSpend(config, {
      file: relative(process.cwd(), file),
      dryRun: true,
    });
    expect({ rejected, rejects }).toStrictEqual({ rejected: 1, rejects: `${file}.dry-run.rejects.ndjson` });
  });

  test('nothing in place of the first argument', async () => {
    for (const [name, verb] of Object.entries(untyped)) {
      if (['init', 'demo', 'readConfig', 'resolvedConfig', 'startSimulator'].includes(name)) continue;
      const unread = name === 'check' ? [] : [{ directory, environment: {} }];
      const partly = { ...config, service: {}, slices: 'daily' };
      for (const nothing of [undefined, null, {}, 'ripen.yaml', { warehouse: 'x' }, { health: 1 }, partly, ...unread]) {
        expect([
          name,
          await failureOf(
            verb(nothing, {
              slice: 'daily',
              days,
              app: 'a',
              name: 'n',
              link: 'l',
              file: 'f',
              output: 'o',
              engine: 'duckdb',
            }),
          ),
        ]).toMatchObject([name, { code: 'USAGE_INVALID', hint: textWith('Give what `') }]);
      }
    }
  });

  test('what was never read says what it lacks, and to give what `readConfig` resolves to', async () => {
    expect(await failureOf(untyped['sync']?.({ directory, environment: {} }) ?? Promise.resolve())).toMatchObject({
      message: 'The first argument was no configuration (missing or wrong: service, warehouse, publish, slices).',
      hint: 'Give what `readConfig` resolves to.',
    });
    expect(await failureOf(untyped['check']?.({ directory }) ?? Promise.resolve())).toMatchObject({
      message: textWith('environment was not given'),
    });
  });

  test('a deadline of a fraction of a millisecond is one, and days of before the first are refused', async () => {
    expect((await ripen.sync(config, { asOf: NIGHT, deadlineMs: 3_600_000.5 })).status).toBe('succeeded');
    expect(await failureOf(ripen.exportRows(config, { slice: 'daily', output: '-', format: 'csv' }))).toMatchObject({
      code: 'USAGE_INVALID',
    });
  });
});

describe('a signal that stops the work', () => {
  const verbs: Record<string, (config: ripen.Config, signal: AbortSignal) => Promise<unknown>> = {
    check: async (of, signal) => ripen.check(of, { signal }),
    catalog: async (of, signal) => ripen.catalog(of, { signal }),
    partners: async (of, signal) => ripen.partners(of, { signal }),
    links: async (of, signal) => ripen.links(of, { app: 'abc123def456', signal }),
    namesakes: async (of, signal) => ripen.namesakes(of, { app: 'abc123def456', name: 'X', signal }),
    createLink: async (of, signal) => ripen.createLink(of, { app: 'abc123def456', name: 'X', signal }),
  };

  test.each(Object.keys(verbs))('%s, while nothing is answered, rejects with INTERRUPTED or tells it', async (name) => {
    const server = await startScriptedServer(() => 'hang');
    try {
      const asked = await readOther(server.origin);
      const outcome = await verbs[name]?.(asked, AbortSignal.timeout(300)).catch((error: unknown) => error);
      if (name === 'check' && !(outcome instanceof Error)) return;
      expect(outcome).toBeInstanceOf(ripen.Failure);
      expect(outcome).toMatchObject({ code: 'INTERRUPTED', kind: 'interrupted' });
    } finally {
      await server.close();
    }
  });

  test.each(['createLink', 'updateLink'] as const)(
    '%s, sent and not answered: its outcome is told as unknown',
    async (verb) => {
      const stop = new AbortController();
      const server = await startScriptedServer(({ method }) => {
        if (method === 'GET') return { status: 200, headers: { 'content-type': 'application/json' }, body: emptyPage };
        setTimeout(() => stop.abort(), 20);
        return 'hang';
      });
      try {
        const asked = await readOther(server.origin);
        const { signal } = stop;
        const call =
          verb === 'createLink'
            ? ripen.createLink(asked, { app: 'abc123def456', name: 'X', signal })
            : ripen.updateLink(asked, { app: 'abc123def456', link: 'tok1', costData: true, signal });
        const failure = await failureOf(call);
        expect(failure.facts).toMatchObject({ outcome: 'unknown' });
        expect(failure.message).toContain('unknown whether');
      } finally {
        await server.close();
      }
    },
  );

  test.each(['status', 'plan', 'exportRows', 'sync', 'publish', 'drop'] as const)(
    '%s, while it waits for the warehouse, rejects with INTERRUPTED',
    async (verb) => {
      const ended = new AbortController();
      const asked = new AbortController();
      const agree = async (): Promise<boolean> => {
        asked.abort();
        await once(ended.signal, 'abort');
        return false;
      };
      const dropping = ripen.drop(config, { slice: 'daily', agree });
      await once(asked.signal, 'abort');
      const stop = new AbortController();
      const emit: ripen.Emit = ({ type }) => void (type === 'lock_waiting' && stop.abort());
      const options = { slice: 'daily', output: join(directory, 'x.csv'), agree: true, signal: stop.signal, emit };
      setTimeout(() => stop.abort(), 5000);
      try {
        expect(await failureOf(untyped[verb]?.(config, options) ?? Promise.resolve())).toMatchObject({
          code: 'INTERRUPTED',
        });
      } finally {
        ended.abort();
        await dropping;
      }
    },
  );

  test('a tour that is stopped before it begins has written nothing, and before its first night rejects, too', async () => {
    const fresh = join(directory, 'tour');
    await mkdir(fresh);
    const stopped = ripen.demo({ directory: fresh, signal: AbortSignal.abort() });
    expect(await failureOf(stopped)).toMatchObject({ code: 'INTERRUPTED' });
    expect(await readdir(fresh)).toEqual([]);
    const stop = new AbortController();
    const begun = ripen.demo({ directory: fresh, signal: stop.signal, tell: async () => stop.abort() });
    expect(await failureOf(begun)).toMatchObject({ code: 'INTERRUPTED' });
  });

  test('an export that is stopped before, or while it writes, leaves no file', async () => {
    const output = join(directory, 'stopped.csv');
    for (const signal of [AbortSignal.abort(), AbortSignal.abort('a reason')]) {
      expect(await failureOf(ripen.exportRows(config, { slice: 'daily', output, signal }))).toMatchObject({
        code: 'INTERRUPTED',
      });
    }
    const stop = new AbortController();
    const stream = new Writable({ highWaterMark: 1, write: () => stop.abort() });
    const hanging = ripen.exportRows(config, {
      slice: 'daily',
      output: '-',
      format: 'csv',
      stream,
      signal: stop.signal,
    });
    expect(await failureOf(hanging)).toMatchObject({ code: 'INTERRUPTED' });
    expect(existsSync(output)).toBe(false);
    expect((await readdir(directory)).filter((name) => name.includes('unfinished'))).toEqual([]);
    expect((await ripen.exportRows(config, { slice: 'daily', output })).rows).toBeGreaterThan(0);
  });
});

const emptyPage = JSON.stringify({ data: { items: [], paging: { next: null } } });

async function readOther(origin: string): Promise<ripen.Config> {
  const file = join(directory, 'other.yaml');
  await writeFile(
    file,
    `service: { base_url: "${origin}", reports_url: "${origin}", token: marked }
warehouse: other.duckdb
partners: false
slices: [{ name: daily, dimensions: [day], metrics: [installs], date_period: "-9d:yesterday", reattributed: all }]
`,
  );
  return ripen.readConfig({ directory, file, environment: {} });
}

test('5 exports at once to one file are each whole, and leave it whole', async () => {
  const output = join(directory, 'at-once.csv');
  const one = async (): Promise<number> => (await ripen.exportRows(config, { slice: 'daily', output })).rows;
  const rows = await one();
  const alone = await readFile(output);
  expect(await Promise.all([one(), one(), one(), one(), one()])).toEqual(Array.from({ length: 5 }, () => rows));
  expect(alone.equals(await readFile(output))).toBe(true);
});

describe('functions of the caller that fail', () => {
  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('not my day');
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('not my day');
      },
    ],
  ])('a listener that %s changes nothing, and is told so once', async (_, fail) => {
    const heard: ripen.RunEvent[] = [];
    const emit = (event: ripen.RunEvent): unknown => {
      heard.push(event);
      return fail();
    };
    const [start, end] = [ripen.parseDay('2026-02-10'), ripen.parseDay('2026-02-12')];
    if (start === null || end === null) throw new Error('no day');
    const summary = await ripen.backfill(config, { slice: 'daily', days: { start, end }, asOf: NIGHT, emit });
    expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
    expect(heard.map(({ type }) => type)).toEqual(expect.arrayContaining(['window_loaded', 'run_finished']));
    const told = heard.filter((event) => event.type === 'warning' && event.code === 'LISTENER_FAILED');
    expect(told).toMatchObject([{ message: textWith('not my day') }]);
  });

  test('a listener that fails with what has no text, now, later, or in a promise of another realm, is told of it, and the run ends', async () => {
    const stray: unknown[] = [];
    const note = (reason: unknown): void => void stray.push(reason);
    process.on('unhandledRejection', note);
    const textless: unknown = Object.create(null);
    const failing = [
      (): unknown => {
        throw textless;
      },
      async (): Promise<unknown> => Promise.reject(textless),
      (): unknown => runInNewContext('Promise.reject(textless)', { textless }),
    ];
    try {
      for (const fail of failing) {
        const heard: ripen.RunEvent[] = [];
        const emit = (event: ripen.RunEvent): unknown => {
          heard.push(event);
          return fail();
        };
        expect(await ripen.sync(config, { asOf: NIGHT, emit })).toMatchObject({ status: 'succeeded' });
        expect(heard.filter((event) => event.type === 'warning')).toMatchObject([{ code: 'LISTENER_FAILED' }]);
      }
      expect((await ripen.status(config)).runs.map(({ status }) => status)).not.toContain('running');
      expect(stray).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  test('`agree` that fails with what has no text is told of, and only true is an agreement', async () => {
    const held = (await ripen.dropLoss(config, { slice: 'daily' })).rows;
    const throwing = async (): Promise<boolean> => Promise.reject(Object.create(null));
    expect(await failureOf(ripen.drop(config, { slice: 'daily', agree: throwing }))).toMatchObject({
      code: 'USAGE_INVALID',
    });
    for (const answer of ['false', 'yes', 1, {}, undefined]) {
      const dropping = untyped['drop']?.(config, { slice: 'daily', agree: async () => answer });
      expect(await dropping).toMatchObject({ dropped: null });
    }
    expect((await ripen.dropLoss(config, { slice: 'daily' })).rows).toBe(held);
  });

  test("of `agree` and of a stream are the caller's to mend, not a bug", async () => {
    const agree = async (): Promise<boolean> => {
      throw new Error('nobody there');
    };
    const failure = await failureOf(ripen.drop(config, { slice: 'daily', agree }));
    expect(failure).toMatchObject({ code: 'USAGE_INVALID', hint: 'Mend the function given as agree.' });
    const stream = new Writable({ write: (_chunk, _encoding, done) => done(new Error('sink broke')) });
    const broken = await failureOf(ripen.exportRows(config, { slice: 'daily', output: '-', format: 'csv', stream }));
    expect(broken).toMatchObject({ code: 'STORAGE_FAILED', message: textWith('sink broke') });
  });
});
