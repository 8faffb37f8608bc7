import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../support/simulator/simulator.ts';
import { ask, type Told } from '../support/ask-simulator.ts';

const good = { cost_type: 'cpc', cost_currency: 'USD', cost_amount: '0.25', cost_id: 'sender-00001', tag: 'spring' };

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ world: { apps: 1, partners: 1, links: 2, rowsPerDay: 1 } });
});

afterAll(async () => {
  await simulator.close();
});

function submit(fields: Readonly<Record<string, string>>, authorization = 'Partner simulator'): Promise<Told> {
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
  return ask(simulator, '/cost', { method: 'POST', headers, body: new URLSearchParams(fields).toString() });
}

describe('the ad spend endpoint', () => {
  test('accepts a line in the body or in the query and counts a repeated Cost ID', async () => {
    const headers = { authorization: 'Partner simulator' };
    expect((await submit(good)).status).toBe(200);
    const inQuery = await ask(simulator, `/cost?${new URLSearchParams(good).toString()}`, { method: 'POST', headers });
    expect(inQuery.status).toBe(200);
    expect(simulator.acceptedSpend.get('sender-00001')).toBe(2);
  });

  test.each([
    ['cost_type', ''],
    ['cost_currency', 'US'],
    ['cost_currency', 'usd'],
    ['cost_currency', 'QQQ'],
    ['cost_id', 'x'.repeat(11)],
    ['cost_id', 'x'.repeat(257)],
    ['tag', ''],
    ['tag', 'x'.repeat(129)],
    ['cost_amount', '1,5'],
  ])('answers 400 naming %s when it is %j', async (name, value) => {
    const told = await submit({ ...good, cost_id: 'never-accepted', [name]: value });
    expect(told.status).toBe(400);
    expect(told.text).toContain(name);
    expect(simulator.acceptedSpend.has('never-accepted')).toBe(false);
  });

  test.each([12, 256])('accepts a Cost ID of %i characters with a tag of 128', async (length) => {
    expect((await submit({ ...good, cost_id: 'y'.repeat(length), tag: 'x'.repeat(128) })).status).toBe(200);
  });

  test('does not know upper-case names', async () => {
    const { tag, ...rest } = good;
    expect((await submit({ ...rest, Tag: tag })).status).toBe(400);
  });

  test('answers 400 to a JSON body', async () => {
    const headers = { authorization: 'Partner simulator', 'content-type': 'application/json' };
    const told = await ask(simulator, '/cost', { method: 'POST', headers, body: JSON.stringify(good) });
    expect(told.status).toBe(400);
  });

  test('answers 401 without a credential and 403 with a wrong one', async () => {
    const unsigned = await ask(simulator, '/cost', { method: 'POST' });
    expect([unsigned.status, (await submit(good, 'Partner other')).status]).toEqual([401, 403]);
  });
});
