import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { faultRows, faultsPage, titlePattern } from '../support/faults-table.ts';

const tests = fileURLToPath(new URL('..', import.meta.url));
const page = fileURLToPath(new URL('../../docs/faults.md', import.meta.url));

/** Of the list of faults the product was specified with. */
const NUMBERED_FAULTS = 34;
const INTRUDERS = [
  'secrets',
  'wire',
  'redirects',
  'queries',
  'sql',
  'paths',
  'terminal',
  'csv',
  'yaml',
  'rights',
  'writes',
];

test('the 34 faults and the 11 intruders have a row each, in order', () => {
  const numbers = Array.from({ length: NUMBERED_FAULTS }, (_, index) => String(index + 1));
  expect(faultRows.map(({ id }) => id)).toStrictEqual([...numbers, ...INTRUDERS]);
});

test('every test the table names is in the file it names, and no row has neither a test nor a reason', () => {
  const texts = new Map<string, string>();
  const lost = faultRows.flatMap(({ id, proofs }) =>
    proofs
      .filter(([file, title]) => {
        const path = `${tests}${file}`;
        const text = texts.get(file) ?? (existsSync(path) ? readFileSync(path, 'utf8') : '');
        texts.set(file, text);
        return !['"', "'", '`'].some((quote) => text.includes(`${quote}${written(title, quote)}${quote}`));
      })
      .map(([file, title]) => `${id}: ${file}: ${title}`),
  );
  expect(lost).toStrictEqual([]);
  expect(faultRows.filter(({ proofs, missing }) => proofs.length === 0 && missing === null)).toStrictEqual([]);
});

/** A title as it stands in the source between these quotes. */
const written = (title: string, quote: string): string => title.replaceAll(quote, `\\${quote}`);

test('docs/faults.md says what the table says', async () => {
  await expect(faultsPage(faultRows)).toMatchFileSnapshot(page);
});

test('a title finds the tests that ran under it, whatever their cases, and no other', () => {
  expect('503 three times (a+b) ends').toMatch(titlePattern('%i three times (a+b) ends'));
  expect('fails with DATA_REJECTED for a 400, twice').toMatch(titlePattern('fails with $code for $name, twice'));
  expect('equals the truth after a 400, and more').not.toMatch(titlePattern('the truth after $name'));
});
