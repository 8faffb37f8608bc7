/** Bodies go on by turns, the oldest first, and end as their connection ends; against a pool that a test plays. */

import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';

import { Reception } from '../../src/service/reception.ts';

const noHeaders = {};
const pool = { dispatch: () => true };

/** A connection that says when it may go on, and when it was given up. */
function connection(name: number, told: string[]): Dispatcher.DispatchController {
  return {
    aborted: false,
    paused: false,
    reason: null,
    abort: () => told.push(`${name} given up`),
    pause: () => told.push(`${name} rests`),
    resume: () => told.push(`${name} goes on`),
  };
}

function begun(count: number): {
  receptions: Reception[];
  connections: Dispatcher.DispatchController[];
  told: string[];
} {
  const told: string[] = [];
  const receptions = Array.from({ length: count }, () => new Reception(pool, { path: '/', method: 'GET' }, () => {}));
  const connections = receptions.map((_, name) => connection(name, told));
  for (const [at, reception] of receptions.entries()) {
    const mine = connections[at];
    if (mine === undefined) continue;
    reception.onRequestStart(mine);
    reception.onResponseStart(mine, 200, noHeaders);
  }
  return { receptions, connections, told };
}

/** What a body brings in a turn. */
const allowed = Buffer.alloc(128 * 1024);

test('of twenty bodies that brought their share eight go on in a turn of the event loop, the oldest first', async () => {
  const { receptions, connections, told } = begun(20);
  for (const [at, reception] of receptions.entries()) {
    const mine = connections[at];
    if (mine !== undefined) reception.onResponseData(mine, allowed);
  }
  expect(told.splice(0)).toEqual(receptions.map((_, name) => `${name} rests`));
  await nextTurn();
  const bodies = receptions.map((reception) => reception.chunks());
  for (const body of bodies) await body.next();
  // Asked for in the other order.
  const pieces = bodies.toReversed().map(async (body) => body.next());
  await nextTurn();
  const first = told.splice(0);
  await nextTurn();
  const second = told.splice(0);
  await nextTurn();
  expect(first.slice(0, 8)).toEqual([19, 18, 17, 16, 15, 14, 13, 12].map((name) => `${name} goes on`));
  expect([...first.slice(8), ...second, ...told]).toEqual(Array.from({ length: 12 }, (_, name) => `${name} goes on`));
  for (const reception of receptions) reception.onResponseEnd();
  expect(await Promise.all(pieces)).toEqual(receptions.map(() => ({ done: true, value: undefined })));
});

test('a connection rests once it brought its share, until that was taken, and waits for no turn before', async () => {
  const { receptions, connections, told } = begun(1);
  const [reception] = receptions;
  const [mine] = connections;
  if (reception === undefined || mine === undefined) throw new Error('No request was made.');
  const body = reception.chunks();
  const first = body.next();
  await nextTurn();
  reception.onResponseData(mine, Buffer.from('one'));
  expect(String((await first).value)).toBe('one');
  expect(told).toEqual([]);
  reception.onResponseData(mine, allowed);
  reception.onResponseData(mine, Buffer.from('two'));
  expect(told).toEqual(['0 rests', '0 rests']);
  expect((await body.next()).value).toHaveLength(allowed.length);
  expect(String((await body.next()).value)).toBe('two');
  await nextTurn();
  expect(told).not.toContain('0 goes on');
  const last = body.next();
  await nextTurn();
  expect(told.at(-1)).toBe('0 goes on');
  reception.onResponseData(mine, Buffer.from('three'));
  reception.onResponseEnd();
  expect(String((await last).value)).toBe('three');
  expect(await body.next()).toEqual({ done: true, value: undefined });
});

test('one that is given up before it was sent is never sent, and one that fails rejects head or body', async () => {
  const told: string[] = [];
  const early = new Reception(pool, { path: '/', method: 'GET' }, () => {});
  early.abort(new Error('enough'));
  early.onRequestStart(connection(0, told));
  await expect(early.head).rejects.toThrow('enough');
  expect(told).toEqual(['0 given up']);
  const { receptions, connections } = begun(1);
  const [late] = receptions;
  const [mine] = connections;
  if (late === undefined || mine === undefined) throw new Error('No request was made.');
  expect(await late.head).toEqual({ status: 200, headers: noHeaders });
  const piece = late.chunks().next();
  late.onResponseError(mine, new Error('cut'));
  await expect(piece).rejects.toThrow('cut');
});

test('what comes before an answer is no head', async () => {
  const told: string[] = [];
  const reception = new Reception(pool, { path: '/', method: 'GET' }, () => {});
  const mine = connection(0, told);
  reception.onRequestStart(mine);
  reception.onResponseStart(mine, 103, { link: 'x' });
  reception.onResponseStart(mine, 204, noHeaders);
  expect((await reception.head).status).toBe(204);
});
