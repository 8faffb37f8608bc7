/** Faults, row 34: what becomes of lines whose call is refused, lost, or answered strangely. */

import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { exitCodeOf, Failure } from '../../src/errors.ts';
import { sendSpend } from '../../src/account/send-spend.ts';
import { count } from '../../src/warehouse/sql.ts';
import { textWith } from '../support/matching.ts';
import { countSteps, type Steps } from '../support/failing-step.ts';
import {
  type Connection,
  connectTo,
  type Received,
  type Reply,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';
import {
  csvOf,
  goodLine,
  NOW,
  openSpendFixture,
  type SpendFixture,
} from '../support/spend-fixture.ts';

let fixture: SpendFixture;
let server: ScriptedServer;
let connection: Connection;
/** What the server answers at the moment. */
let reply: (request: Received, costId: string) => ReturnType<Script>;

beforeEach(async () => {
  fixture = await openSpendFixture();
  reply = () => ({ status: 200 });
  server = await startScriptedServer((request) => reply(request, costIdOf(request)));
  connection = connectTo(server.origin, { requestTimeoutMs: 2000 });
});

const costIdOf = ({ body }: Received): string => new URLSearchParams(body).get('cost_id') ?? '';
const received = (): string[] => server.received.map(costIdOf);
const ids = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `sender-${String(index + 1).padStart(6, '0')}`);
const fileOf = async (costIds: readonly string[]): Promise<string> =>
  fixture.write('f.csv', csvOf(costIds.map((costId) => ({ ...goodLine, cost_id: costId }))));
const send = async (file: string, change: object = {}, signal?: AbortSignal) =>
  fixture.send(file, connection.service, change, signal);
const codes = ({
  failures,
}: {
  readonly failures: readonly { readonly code: string }[];
}): string[] => failures.map(({ code }) => code);

/** A new connection: what a run refused must not outlast it. */
async function reconnect(origin = server.origin): Promise<void> {
  await connection.service.close();
  connection = connectTo(origin, { requestTimeoutMs: 2000 });
}

describe('an outcome that nobody knows', () => {
  const strange: readonly [string, Reply][] = [
    ['whose connection is lost after sending', { status: 0 }],
    ['answered 200 beside an error', { status: 200, body: '{"error":"not your campaign"}' }],
  ];

  test.each(strange)(
    'of a line %s is unknown, and only resent when told',
    async (_what, answer) => {
      const [one = '', two = ''] = ids(2);
      const file = await fileOf([one, two]);
      reply = (_request, costId) => (costId === one ? answer : { status: 200 });
      const first = await send(file);
      expect(first).toMatchObject({ sent: 2, accepted: 1, unknown: 1 });
      expect(codes(first)).toEqual(['SPEND_UNKNOWN']);
      expect(await fixture.ledger()).toMatchObject([
        { outcome: 'unknown' },
        { outcome: 'accepted' },
      ]);

      reply = () => ({ status: 200 });
      const second = await send(file);
      expect(second).toMatchObject({ sent: 0, unknown: 1, already_accepted: 1 });
      expect(codes(second)).toEqual(['SPEND_UNKNOWN']);
      expect(received()).toHaveLength(2);

      expect(await send(file, { resendUnknown: true })).toMatchObject({
        sent: 1,
        accepted: 1,
        unknown: 0,
        failures: [],
      });
      expect(received().toSorted()).toEqual([one, one, two]);
    },
  );
});

test('a line of unknown outcome that is too old to be sent is still unknown, and breaks a rule only where it is to be sent again', async () => {
  const old = { ...goodLine, engaged_at: '2026-02-13' };
  const file = await fixture.write('f.csv', csvOf([old]));
  reply = () => ({ status: 500 });
  expect(await send(file)).toMatchObject({ unknown: 1 });
  const later = { now: new Date('2026-02-23T12:00:00Z') };
  const summary = await send(file, later);
  expect(summary).toMatchObject({ rejected: 0, unknown: 1, rejects_file: null });
  expect(codes(summary)).toEqual(['SPEND_UNKNOWN']);
  expect(await send(file, { ...later, resendUnknown: true })).toMatchObject({
    rejected: 1,
    sent: 0,
  });
});

test('403 to each of 3 lines leads to the credential, and 403 to 2 of them to the lines', async () => {
  const [one = '', ...others] = ids(3);
  reply = () => ({ status: 403 });
  const summary = await send(await fileOf([one, ...others]));
  expect(summary.failures).toMatchObject([
    { code: 'SPEND_REJECTED', hint: textWith('service.cost_headers') },
  ]);
  reply = (_, costId) => ({ status: costId === one ? 200 : 403 });
  const { failures } = await send(await fileOf([one, ...others]));
  expect(failures).toMatchObject([{ code: 'SPEND_REJECTED', hint: textWith('Correct the lines') }]);
});

test.each([400, 403])(
  'a line the service rejects with %i is told beside the bad lines, and sent again once it is mended',
  async (status) => {
    const [one = '', two = ''] = ids(2);
    const file = await fileOf([one, two, 'short']);
    reply = (_request, costId) =>
      costId === two ? { status, body: '{"message":"not yours"}' } : { status: 200 };
    const summary = await send(file);
    expect(summary).toMatchObject({ rejected: 1, sent: 2, accepted: 1, refused: 1 });
    expect(codes(summary)).toEqual(['SPEND_REJECTED']);
    expect((await fixture.rejects(file))?.map(({ line, reasons }) => [line, reasons])).toEqual([
      [3, [`the service: ${status} not yours`]],
      [4, ['cost_id had 5 characters, not 12 to 256']],
    ]);
    expect(await fixture.ledger()).toMatchObject([
      { outcome: 'accepted' },
      { outcome: 'rejected', status },
    ]);

    reply = () => ({ status: 200 });
    const mended = await fixture.write(
      'f.csv',
      csvOf([{ ...goodLine, cost_id: two, cost_amount: '7' }]),
    );
    await reconnect('http://127.0.0.1:9');
    expect(codes(await send(mended))).toEqual(['SOURCE_UNAVAILABLE']);
    expect(await fixture.ledger()).toMatchObject([
      { outcome: 'accepted' },
      { outcome: 'rejected', status },
    ]);
    await reconnect();
    expect(await send(mended)).toMatchObject({ accepted: 1, rejects_file: null, failures: [] });
    expect(received().filter((costId) => costId === two)).toHaveLength(2);
  },
);

describe('what stops everything', () => {
  test('401: at most the lines in hand are tried, nothing is recorded of them, and the next run sends the rest', async () => {
    const all = ids(60);
    const file = await fileOf(all);
    reply = () => (server.received.length > 20 ? { status: 401 } : { status: 200 });
    const summary = await send(file);
    expect(summary).toMatchObject({ accepted: 20, sent: 20, to_send: 60, unknown: 0, refused: 0 });
    expect(codes(summary)).toEqual(['CREDENTIALS_REFUSED']);
    expect(received().length).toBeLessThanOrEqual(28);
    expect(await fixture.ledger()).toHaveLength(20);

    reply = () => ({ status: 200 });
    const before = received().slice(0, 20);
    await reconnect();
    expect(await send(file)).toMatchObject({ accepted: 40, already_accepted: 20, failures: [] });
    const later = server.received.slice(-40).map(costIdOf);
    expect([...before, ...later].toSorted()).toEqual(all);
  });

  test('403 to every one of 60 lines: stops after 8 in a row, and exits with 78', async () => {
    const file = await fileOf(ids(60));
    reply = () => ({ status: 403, body: '{"message":"may not post"}' });
    const summary = await send(file);
    expect(summary).toMatchObject({ refused: 8, sent: 8, to_send: 60 });
    expect(received()).toHaveLength(8);
    expect(codes(summary)).toEqual(['ACCESS_FORBIDDEN', 'SPEND_REJECTED']);
    expect(
      exitCodeOf(summary.failures.map(({ code, message }) => new Failure(code, message))),
    ).toBe(78);
    expect(summary.failures[0]?.hint).toContain('service.cost_headers');

    reply = () => ({ status: 200 });
    expect(await send(file)).toMatchObject({ accepted: 60, failures: [] });
  });

  test('503 to every one of 100 lines: 8 are left in doubt, none is sent twice, the rest is sent later', async () => {
    const all = ids(100);
    const file = await fileOf(all);
    reply = () => ({ status: 503 });
    const summary = await send(file);
    expect(summary.unknown).toBe(8);
    expect(summary).toMatchObject({
      accepted: 0,
      refused: 0,
      sent: received().length,
      unknown: received().length,
    });
    expect(codes(summary)).toEqual(['SPEND_UNKNOWN']);
    expect(summary.failures[0]?.message).toContain('8 lines in a row');
    expect(await fixture.ledger()).toHaveLength(summary.unknown);

    reply = () => ({ status: 200 });
    await reconnect();
    expect(await send(file)).toMatchObject({
      accepted: 100 - summary.unknown,
      unknown: summary.unknown,
    });
    expect(received().toSorted()).toEqual(all);
  });

  test('a disk that is full once a line was sent: it is counted as unknown, as the next run will find it', async () => {
    const file = await fileOf(ids(1));
    let isFull = false;
    const steps: Steps = await countSteps(
      () => isFull && steps.kinds.at(-1) === 'insert or replace',
    );
    reply = () => {
      isFull = true;
      return { status: 200 };
    };
    const summary = await send(file).finally(() => steps.stop());
    expect(summary).toMatchObject({ sent: 1, accepted: 0, unknown: 1 });
    expect(codes(summary)).toEqual(['STORAGE_FAILED', 'SPEND_UNKNOWN']);
    expect(await send(file)).toMatchObject({ sent: 0, unknown: 1 });
    expect(received()).toHaveLength(1);
  });

  test('a signal: lines on the wire are waited for and recorded, no other one goes out', async () => {
    const stopping = new AbortController();
    const all = ids(60);
    const file = await fileOf(all);
    reply = () => {
      if (server.received.length === 20) stopping.abort();
      return { status: 200, afterMs: 20 };
    };
    const summary = await send(file, {}, stopping.signal);
    expect(summary).toMatchObject({ unknown: 0, refused: 0, failures: [{ code: 'INTERRUPTED' }] });
    expect(summary.accepted).toBe(received().length);
    expect(summary.accepted).toBeLessThanOrEqual(28);
    expect(await fixture.ledger()).toHaveLength(summary.accepted);
    expect(await send(file)).toMatchObject({
      accepted: 60 - summary.accepted,
      already_accepted: summary.accepted,
    });
    expect(received().toSorted()).toEqual(all);
  });
});

test('a line is recorded as being sent before its call, and no more than 8 at once', async () => {
  const file = await fileOf(ids(40));
  const row = z.object({ lines: count, mine: count });
  const seen: z.infer<typeof row>[] = [];
  await fixture.inWarehouse(async (warehouse) => {
    reply = (_request, costId) => (response) => {
      const sql = `select count(*) as lines, count(*) filter (where cost_id = $1) as mine
        from ripen.spend where outcome = 'sending'`;
      void warehouse.rows(sql, [costId], row).then((found) => {
        seen.push(...found);
        return response.end();
      });
    };
    const request = { file, dryRun: false, resendUnknown: false, now: NOW };
    await sendSpend(request, { ...connection, warehouse, emit: () => {} });
  });
  expect(seen.map(({ mine }) => mine)).toEqual(Array.from({ length: 40 }, () => 1));
  expect(Math.max(...seen.map(({ lines }) => lines))).toBeLessThanOrEqual(8);
});
