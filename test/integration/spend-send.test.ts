/** What `spend send` sends, what it leaves out, and what it remembers, against the simulated service. */

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { Secret } from '../../src/config/secret.ts';
import { connect } from '../../src/service/connect.ts';
import type { Service } from '../../src/service/service.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { httpService } from '../support/scenario.ts';
import { csvOf, goodLine, openSpendFixture, type SpendFixture } from '../support/spend-fixture.ts';
import { carriedOut, recordedShell, type RecordedShell } from '../unit/cli-recorded-shell.ts';

let fixture: SpendFixture;
let simulator: Simulator;
let service: Service;

beforeEach(async () => {
  fixture = await openSpendFixture();
  simulator = await startSimulator({ world: { apps: 1, partners: 1, links: 2, rowsPerDay: 1 } });
  const costHeaders = { Authorization: new Secret('Partner simulator') };
  service = connect(httpService(simulator, { costHeaders }), (event) => fixture.events.push(event));
});

afterEach(async () => {
  await service.close();
});

const line = (id: string, change: object = {}) => ({
  ...goodLine,
  cost_id: `sender-${id}`,
  ...change,
});
const accepted = () => Object.fromEntries(simulator.acceptedSpend);
const outcomes = async () =>
  (await fixture.ledger()).map(({ cost_id: id, outcome }) => [id, outcome]);

describe('a file', () => {
  test('is sent but for its 2 bad lines, and the exit is that of SPEND_REJECTED', async () => {
    const lines = [
      line('000001'),
      line('000002', { cost_amount: '-1' }),
      line('x'),
      line('000004'),
    ];
    const file = await fixture.write('f.csv', csvOf(lines));
    expect(await fixture.send(file, service)).toEqual({
      lines: 4,
      valid: 2,
      rejected: 2,
      to_send: 2,
      sent: 2,
      accepted: 2,
      already_accepted: 0,
      refused: 0,
      unknown: 0,
      rejects_file: `${file}.rejects.ndjson`,
      failures: [expect.objectContaining({ code: 'SPEND_REJECTED' })],
    });
    expect(accepted()).toEqual({ 'sender-000001': 1, 'sender-000004': 1 });
    expect((await fixture.rejects(file))?.map(({ line: at }) => at)).toEqual([3, 4]);
  });

  test('with equal copies sends the first; with different ones none, and names the first line', async () => {
    const lines = [
      line('equal-1'),
      line('equal-1', { cost_amount: '0.250' }),
      line('other-1', { cost_amount: '1' }),
      line('equal-1'),
      line('other-1', { cost_amount: '2' }),
    ];
    const file = await fixture.write('f.csv', csvOf(lines));
    expect(await fixture.send(file, service)).toMatchObject({ rejected: 4, accepted: 1 });
    expect(accepted()).toEqual({ 'sender-equal-1': 1 });
    expect(
      (await fixture.rejects(file))?.map(({ line: at, reasons }) => [at, reasons.join()]),
    ).toEqual([
      [3, 'cost_id repeats line 2, with the same content'],
      [4, 'cost_id is on 2 lines with different content, first on line 4'],
      [5, 'cost_id repeats line 2, with the same content'],
      [6, 'cost_id is on 2 lines with different content, first on line 4'],
    ]);
  });

  test('sent twice is accepted once; a second file may hold the same lines', async () => {
    const file = await fixture.write('f.csv', csvOf([line('000001'), line('000002')]));
    await fixture.send(file, service);
    const summary = {
      sent: 0,
      to_send: 0,
      already_accepted: 2,
      valid: 2,
      rejected: 0,
      failures: [],
    };
    expect(await fixture.send(file, service)).toMatchObject(summary);
    const other = await fixture.write(
      'g.csv',
      csvOf([line('000002', { cost_amount: '0.2500' }), line('000003')]),
    );
    expect(await fixture.send(other, service)).toMatchObject({
      sent: 1,
      already_accepted: 1,
      rejected: 0,
    });
    expect(accepted()).toEqual({ 'sender-000001': 1, 'sender-000002': 1, 'sender-000003': 1 });
  });

  test.each([
    ['cost_amount', '0.26'],
    ['tag', 'autumn'],
  ])(
    'whose %s differs from what was accepted under its Cost ID is rejected',
    async (column, value) => {
      await fixture.send(await fixture.write('f.csv', csvOf([line('000001')])), service);
      const file = await fixture.write('g.csv', csvOf([line('000001', { [column]: value })]));
      expect(await fixture.send(file, service)).toMatchObject({ rejected: 1, sent: 0 });
      expect((await fixture.rejects(file))?.[0]?.reasons).toEqual([
        'cost_id was sent before with different content: cost_type cpc, cost_amount 0.25 USD, tag spring, and accepted',
      ]);
    },
  );

  test('of lines accepted in time may be sent again 8 days later; a new line of then may not', async () => {
    const change = { engaged_at: '2026-02-13' };
    const file = await fixture.write('f.csv', csvOf([line('000001', change)]));
    await fixture.send(file, service);
    const later = { now: new Date('2026-02-22T12:00:00Z') };
    expect(await fixture.send(file, service, later)).toMatchObject({
      already_accepted: 1,
      rejected: 0,
      failures: [],
    });
    const other = await fixture.write('g.csv', csvOf([line('000002', change)]));
    expect(await fixture.send(other, service, later)).toMatchObject({ rejected: 1, sent: 0 });
  });

  test('under --dry-run is judged and its rejects written; nothing is sent and nothing recorded', async () => {
    const file = await fixture.write('f.csv', csvOf([line('000001'), line('x')]));
    const summary = await fixture.send(file, service, { dryRun: true });
    expect(summary).toMatchObject({ valid: 1, rejected: 1, to_send: 1, sent: 0 });
    expect(summary.rejects_file).toBe(`${file}.dry-run.rejects.ndjson`);
    expect(await fixture.rejects(file, true)).toHaveLength(1);
    expect([accepted(), await fixture.ledger()]).toEqual([{}, []]);
  });
});

describe('a line that was being sent when its run was killed', () => {
  const abandoned = async (file: string): Promise<void> => {
    await fixture.send(file, service);
    await fixture.inWarehouse(async (warehouse) =>
      warehouse.run("update ripen.spend set outcome = 'sending'"),
    );
  };

  test('is unknown to the next run, and not sent again', async () => {
    const file = await fixture.write('f.csv', csvOf([line('000001')]));
    await abandoned(file);
    const summary = await fixture.send(file, service);
    expect(summary).toMatchObject({ unknown: 1, sent: 0, failures: [{ code: 'SPEND_UNKNOWN' }] });
    expect(accepted()).toEqual({ 'sender-000001': 1 });
    const [row] = await fixture.ledger();
    expect([row?.outcome, row?.reason]).toEqual([
      'unknown',
      expect.stringContaining('ended before'),
    ]);
  });

  test('is sent again with --resend-unknown, but never with other content', async () => {
    const file = await fixture.write('f.csv', csvOf([line('000001')]));
    await abandoned(file);
    const other = await fixture.write('g.csv', csvOf([line('000001', { cost_amount: '9' })]));
    expect(await fixture.send(other, service, { resendUnknown: true })).toMatchObject({
      rejected: 1,
      sent: 0,
    });
    expect(await fixture.send(file, service, { resendUnknown: true })).toMatchObject({
      accepted: 1,
      unknown: 0,
    });
    expect(accepted()).toEqual({ 'sender-000001': 2 });
    expect(await outcomes()).toEqual([['sender-000001', 'accepted']]);
  });
});

describe('the command', () => {
  test('prints counts and failures, or one JSON object, and exits 65 when a line was rejected, else 0', async () => {
    await writeFile(
      join(fixture.directory, 'ripen.yaml'),
      `service:
  base_url: ${simulator.url}
  reports_url: ${simulator.url}
  cost_url: ${simulator.url}
  token: not-needed-here
  cost_headers: { Authorization: Partner simulator }
warehouse: warehouse.duckdb
slices: [{ name: s, dimensions: [day], metrics: [installs], date_period: "2026-01-01:yesterday" }]
`,
    );
    await fixture.write('f.csv', csvOf([line('000001'), line('x')]));
    await fixture.write('g.csv', csvOf([line('000002')]));
    const shell = recordedShell({ directory: fixture.directory });
    const send = (on: RecordedShell, ...words: string[]): Promise<number> =>
      carriedOut(on, 'spend', 'send', '--quiet', '--lock-wait', '0s', ...words);
    expect(await send(shell, '--file', 'f.csv', '--dry-run')).toBe(65);
    expect(shell.printed.join('\n')).toContain('Nothing was sent and nothing recorded.');
    expect(existsSync(join(fixture.directory, 'warehouse.duckdb'))).toBe(false);
    expect(await send(shell, '--file', 'f.csv')).toBe(65);
    expect(shell.printed.join('\n')).toMatch(
      /^sent +1\naccepted +1\nalready accepted +0\nrefused +0\n/m,
    );
    expect(shell.told.at(-1)).toMatch(
      /^SPEND_REJECTED: 1 of 2 lines of f\.csv broke a rule and were not sent; .*\n {2}hint: /,
    );
    const logged = recordedShell({ directory: fixture.directory });
    expect(await send(logged, '--file', 'f.csv', '--log', 'json')).toBe(65);
    expect(logged.told.map((text): unknown => JSON.parse(text))).toMatchObject([
      { code: 'SPEND_REJECTED' },
    ]);
    expect(await send(shell, '--file', 'g.csv', '--json')).toBe(0);
    expect(JSON.parse(shell.printed.at(-1) ?? '')).toMatchObject({
      lines: 1,
      accepted: 1,
      failures: [],
    });
    expect(accepted()).toEqual({ 'sender-000001': 1, 'sender-000002': 1 });
  });
});
