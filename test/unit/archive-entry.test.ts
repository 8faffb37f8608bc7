/** The sidecar of an archived window: read back as written, or refused. */

import { expect, test } from 'vitest';
import * as z from 'zod';

import { Secret } from '../../src/config/secret.ts';
import { day } from '../../src/model/calendar.ts';
import { windowOf } from '../../src/model/window.ts';
import {
  bodyName,
  documentText,
  entryStem,
  fetchedAtOf,
  parseEntryName,
  parseSidecar,
  sidecarText,
} from '../../src/spool/archive-entry.ts';
import type { SavedBody } from '../../src/service/service.ts';
import type { Spooled } from '../../src/spool/spool.ts';
import { slice } from '../support/slice.ts';

const bucket = { start: day('2026-05-30'), end: day('2026-05-31') };
const parts = [{ os_name: { in: ['ios'], notIn: [] } }, { os_name: { in: null, notIn: ['ios'] } }];
const window = windowOf(
  slice({
    name: 'daily',
    dimensions: ['day'],
    metrics: ['installs'],
    parameters: { mystery: 'secret-in-a-parameter' },
  }),
  'feedfacecafebeef',
  [{ period: { bucket, asked: bucket }, reason: 'maturing' }],
  parts,
);
const requestedAt = new Date('2026-06-01T02:30:00.123Z');
const saved: SavedBody = { path: 'p', bytes: 1, plainBytes: 1, encoding: 'gzip' };
const spooled: Spooled = {
  window,
  answers: [
    { pages: [saved, saved], unfollowed: null },
    { pages: [], unfollowed: null },
  ],
  whole: null,
  byYear: null,
  requests: 3,
  requestedAt,
  receivedAt: new Date('2026-06-01T02:30:01.000Z'),
};
const body = { sha256: 'ab'.repeat(32), bytes: 10, plainBytes: 20, encoding: 'gzip' } as const;
const asOf = new Date('2026-06-01T02:00:00Z');

test('says what was asked, replaced and recorded, with a body per page of each part and null for 204', () => {
  const entry = parseSidecar(sidecarText(spooled, asOf, [body, body, null]));
  expect(entry).toMatchObject({
    slice: 'daily',
    fingerprint: 'feedfacecafebeef',
    metrics: ['installs'],
    asked: bucket,
    replaced: bucket,
    periods: [{ period: { bucket, asked: bucket }, reason: 'maturing' }],
    parts,
    requests: 3,
    requestedAt,
    asOf,
    bodies: [body, body, null],
    pages: [2, 1],
  });
  expect(
    'parameters' in entry && entry.parameters.map(({ date_period, os_name__in }) => [date_period, os_name__in]),
  ).toEqual([
    ['2026-05-30:2026-05-30', 'ios'],
    ['2026-05-30:2026-05-30', undefined],
  ]);
});

test('holds no secret, also where one was passed as a parameter', () => {
  const secret = new Secret('secret-in-a-parameter');
  expect(sidecarText(spooled, asOf, [body, body, null])).not.toContain(secret.reveal());
});

test('is refused with any one of its bytes changed', () => {
  const text = sidecarText(spooled, asOf, [body, body, null]);
  const outcomes = new Set<string>();
  for (let at = 0; at < text.length; at += 1) {
    const changed = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
    const read = parseSidecar(changed);
    outcomes.add('because' in read ? read.because : JSON.stringify(read));
  }
  expect([...outcomes].sort()).toEqual(
    ['the checksum of its window.json did not match', "its window.json was not of the archive's form"].sort(),
  );
});

test.each([1, 2, 4])('is refused with %i bodies for 2 parts of 2 pages and 1', (count) => {
  const bodies = Array.from({ length: count }, () => body);
  expect(parseSidecar(sidecarText(spooled, asOf, bodies))).toEqual({ because: `it had ${count} bodies for 2 parts` });
});

test('of an archive from before pages were followed has 1 body for each part', () => {
  const document = z.object({ content: z.record(z.string(), z.unknown()) });
  const { pages, ...before } = document.parse(JSON.parse(sidecarText(spooled, asOf, [body, null]))).content;
  expect(pages).toEqual([2, 1]);
  expect(parseSidecar(documentText(before))).toMatchObject({ bodies: [body, null] });
});

test('the as-of instant stood for the fetch where there was one', () => {
  expect(fetchedAtOf({ asOf, requestedAt })).toBe(asOf);
  expect(fetchedAtOf({ asOf: null, requestedAt })).toBe(requestedAt);
});

test('an entry is named by instant and days, and its name says the instant and whether it was set aside', () => {
  const name = `${entryStem(window, requestedAt)}.1`;
  expect(name).toBe('20260601T023000123Z.2026-05-30_2026-05-30.1');
  expect(parseEntryName(name)).toEqual({ requestedAt, isSetAside: false });
  expect(parseEntryName(`${name}.corrupt`)).toEqual({ requestedAt, isSetAside: true });
  expect(bodyName(0)).toBe('part-1.json.gz');
});

test.each([
  '',
  'notes.txt',
  '../20260601T023000123Z.2026-05-30_2026-05-30.1',
  '20261301T023000123Z.2026-05-30_2026-05-30.1',
])('the name %j is not the archive’s', (name) => {
  expect(parseEntryName(name)).toBeNull();
});
