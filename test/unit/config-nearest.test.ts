import { describe, expect, test } from 'vitest';

import { nearest } from '../../src/config/nearest.ts';

describe('nearest', () => {
  test.each([
    ['instals', 'installs'],
    ['isntalls', 'installs'],
    ['INSTALLS', 'installs'],
    ['clikcs', 'clicks'],
    ['click', 'clicks'],
    ['coost', 'cost'],
  ])('%s means %s', (name, meant) => {
    expect(nearest(name, ['cost', 'clicks', 'installs'])).toBe(meant);
  });

  test.each(['sessions', 'xyz', ''])('%j means none of them', (name) => {
    expect(nearest(name, ['cost', 'clicks', 'installs'])).toBeNull();
  });

  test('of two at the same distance the first is taken, of two distances the smaller', () => {
    expect(nearest('cat', ['car', 'bat'])).toBe('car');
    expect(nearest('country_cod', ['country', 'country_code'])).toBe('country_code');
  });

  test('without candidates there is none', () => {
    expect(nearest('installs', [])).toBeNull();
  });
});
