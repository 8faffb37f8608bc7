import { expect, test } from 'vitest';

import { nearest } from '../../src/config/nearest.ts';

test.each([
  ['instals', 'installs'],
  ['isntalls', 'installs'],
  ['INSTALLS', 'installs'],
  ['clikcs', 'clicks'],
  ['click', 'clicks'],
  ['coost', 'cost'],
  ['sessions', null],
  ['xyz', null],
  ['', null],
])('of cost, clicks and installs, %j means %j', (name, meant) => {
  expect(nearest(name, ['cost', 'clicks', 'installs'])).toBe(meant);
});

test('of two names at the same distance the first is meant, of two distances the smaller, of none nothing', () => {
  expect(nearest('cat', ['car', 'bat'])).toBe('car');
  expect(nearest('country_cod', ['country', 'country_code'])).toBe('country_code');
  expect(nearest('installs', [])).toBeNull();
});
