import { expect, test } from 'vitest';

import { horizonEvidence, type Look } from '../../src/insight/horizon-evidence.ts';

/** So many looks alike. */
const looks = (times: number, from: number, to: number, found: Partial<Look> = {}): Look[] =>
  Array.from({ length: times }, () => ({ from, to, hasChanged: false, wasFinal: false, ...found }));

const moved = { hasChanged: true } as const;
const wrong = { hasChanged: true, wasFinal: true } as const;

test('a horizon of 3 days is too short when a final total changed between the ages 5 and 6: 6 days once 8 looks agree', () => {
  const seen = [...looks(20, 3, 10, wrong), ...looks(1, 5, 6, wrong)];
  expect(horizonEvidence([...seen, ...looks(8, 6, 20)], 3)).toEqual({
    looks: 29,
    changed: 21,
    changedAfterFinal: 21,
    proposedDays: 6,
  });
});

test('before 8 looks agree the age of the latest change seen is proposed, which holds in all that was seen', () => {
  const seen = [...looks(20, 3, 10, wrong), ...looks(1, 5, 6, wrong)];
  expect(horizonEvidence([...seen, ...looks(7, 6, 20)], 3).proposedDays).toBe(10);
});

test('8 looks that begin 3 days after the settled age confirm nothing: what moves in between would go unseen', () => {
  const seen = [...looks(20, 3, 10, wrong), ...looks(1, 5, 6, wrong)];
  expect(horizonEvidence([...seen, ...looks(8, 9, 20)], 3).proposedDays).toBe(10);
  expect(horizonEvidence([...seen, ...looks(8, 8, 20)], 3).proposedDays).toBe(6);
});

test('a horizon of 14 days is needlessly long after 60 looks from age 7 on without a change, and not after 59', () => {
  const seen = looks(30, 5, 7, moved);
  expect(horizonEvidence([...seen, ...looks(60, 7, 15)], 14).proposedDays).toBe(7);
  expect(horizonEvidence([...seen, ...looks(59, 7, 15)], 14).proposedDays).toBeNull();
});

test('a horizon within which values move to the end is right, and nothing is said of one nobody looked at', () => {
  expect(horizonEvidence([...looks(90, 10, 15, moved), ...looks(90, 15, 32)], 14).proposedDays).toBeNull();
  expect(horizonEvidence([], 7).proposedDays).toBeNull();
});
