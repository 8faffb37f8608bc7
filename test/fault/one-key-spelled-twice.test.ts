/** A row that comes twice with another spelling of `attr_dependency`, which is part of its key: it is compared by what it says. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { column, query } from '../support/contents.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'network'],
  metrics: ['installs'],
  datePeriod: { first: { day: day('2026-05-31') }, last: { day: day('2026-05-31') } },
});

let scenario: Scenario;

/** A number that the column reader leaves to SQL. */
const ways = { columns: '"1"', SQL: '"+1"' } as const;

/** Loads rows of one network, each with 5 installs, beside one of another; `total` as the service states it. */
async function load(dependencies: readonly string[], way: keyof typeof ways, total = 11): Promise<string[]> {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  const row = (dependency: string, network: string, installs: string): string =>
    `{"attr_dependency":${dependency},"day":"2026-05-31","network":"${network}","installs":${installs}}`;
  const rows = [...dependencies.map((each) => row(each, 'a', '"5"')), row('{}', 'b', ways[way]), row('{}', 'c', '"5"')];
  const text = `{"rows":[${rows.join(',')}],"totals":{"installs":${total}},"warnings":[],"pagination":null}`;
  const fault: Fault = { kind: 'status', status: 200, body: { text, contentType: 'application/json' } };
  scenario.simulator.script({ match: reports(), times: Infinity, fault });
  return (await runNight(scenario, NOW)).failures.map(({ code }) => code);
}

const stored = async (): Promise<string[]> =>
  column(scenario, "select attr_dependency::varchar from daily where network = 'a' order by 1");

describe.each(['columns', 'SQL'] as const)('read by %s', (way) => {
  test.each([
    ['another order of its keys', '{"partner":"p","partner_id":"107"}', '{"partner_id":"107","partner":"p"}'],
    ['other blanks', '{"partner":"p","partner_id":"107"}', '{ "partner" : "p",\n "partner_id":\t"107" }'],
    ['an escape', '{"partner":"p","partner_id":"107"}', String.raw`{"partner":"\u0070","partner_id":"107"}`],
    ['an escaped key', '{"partner":"p"}', String.raw`{"\u0070artner":"p"}`],
    ['another order within', '{"a":[{"x":"1","y":"2"}],"b":{}}', '{"b":{},"a":[{"y":"2","x":"1"}]}'],
    ['a number written otherwise', '{"id":1}', '{"id":1.0}'],
  ])('a row that comes twice, the second time with %s in attr_dependency, is stored once', async (_, one, other) => {
    const escaped = other.replaceAll('\\\\n', '\\n').replaceAll('\\\\t', '\\t').replaceAll('\\u', '\\u');
    expect(await load([one, escaped], way)).toEqual([]);
    expect(await stored()).toEqual([one]);
    expect(await query(scenario, 'select verdict from ripen.loads')).toEqual([{ verdict: 'proven' }]);
    expect(await column(scenario, "select count(*) from ripen.warnings where code = 'DUPLICATE_ROWS'")).toEqual(['1']);
  });

  test.each([
    ['another type', '{"id":1}', '{"id":"1"}'],
    ['another order of a list', '{"id":["1","2"]}', '{"id":["2","1"]}'],
    ['a digit beyond those of a double', '{"id":9007199254740993}', '{"id":9007199254740992}'],
    ['a digit beyond 64 bits', '{"id":123456789012345678901234567890}', '{"id":123456789012345678901234567891}'],
    ['null instead of nothing', '{"id":null}', '{}'],
    ['other keys within', '{"a":{"b":"1"}}', '{"a":{},"b":"1"}'],
    ['a key twice', '{"a":"1","a":"2"}', '{"a":"2","a":"1"}'],
  ])('2 rows of which one has %s in attr_dependency are 2', async (_, one, other) => {
    expect(await load([one, other], way, 16)).toEqual([]);
    expect(await stored()).toEqual([one, other].sort());
  });
});
