import { expect, test } from 'vitest';

import { median, milliseconds, percent } from '../bench/support/figures.ts';
import { betweenMarkers, pageText, type Section } from '../bench/support/section.ts';

const machine = { cores: 2, memory_gib: 16, node: '20.19.0', duckdb: '1.5.6' };

const load: Section = {
  name: 'load',
  title: 'Loading',
  paragraphs: ['Some words.'],
  tables: [
    {
      caption: 'Two ways.',
      columns: ['way', 'rows/s'],
      rows: [
        ['one', '1,000'],
        ['other', '20'],
      ],
    },
  ],
  figures: { rows_per_second: 1000 },
};

test('a page states the machine, then its sections in a fixed order, with numbers to the right', () => {
  const maturity: Section = { ...load, name: 'maturity', title: 'Nights', tables: [] };
  expect(pageText({ machine, sections: { load, maturity } }))
    .toBe(`Measured on 2 cores, 16 GiB of memory, Node 20.19.0, DuckDB 1.5.6.

## Nights

Some words.

## Loading

Some words.

Two ways.

| way | rows/s |
| --- | --: |
| one | 1,000 |
| other | 20 |`);
});

test('only what stands between the markers is replaced, and replacing it twice changes nothing', () => {
  const once = betweenMarkers('# Benchmarks\n\nBy hand.\n', 'old');
  expect(once).toBe('# Benchmarks\n\nBy hand.\n\n<!-- bench: begin -->\n\nold\n\n<!-- bench: end -->\n');
  const edited = `${once}\nAlso by hand.\n`;
  const twice = betweenMarkers(edited, 'new');
  expect(twice).toBe(edited.replace('old', 'new'));
  expect(betweenMarkers(twice, 'new')).toBe(twice);
});

test('the median of 4 values is the lower middle one, and 1,234 ms read as 1.2 s', () => {
  expect(median([9, 1, 3, 5])).toBe(3);
  expect(milliseconds(1234)).toBe('1.2 s');
  expect(milliseconds(999)).toBe('999 ms');
  expect(percent(0.1276)).toBe('12.8 %');
});
