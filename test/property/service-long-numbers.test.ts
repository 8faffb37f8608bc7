import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { PlainGauge } from '../../src/service/plain-text.ts';
import { LongNumberSearch } from '../../src/spool/long-numbers.ts';

/** A document cut at arbitrary places, down to single bytes. */
function seenBy<T extends { see(chunk: Buffer): void }>(reader: T, document: string, cuts: readonly number[]): T {
  const bytes = Buffer.from(document);
  const positions = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...positions, bytes.length]) {
    reader.see(bytes.subarray(from, to));
    from = to;
  }
  return reader;
}

const cuts = fc.array(fc.nat(10_000), { maxLength: 40 });
const blanks = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 30 });
const digits = fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), minLength: 15, maxLength: 40 });
const longNumber = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.constantFrom(...Array.from('123456789')),
    digits,
    fc.nat(14),
    fc.constantFrom('', 'e-7', 'E+20'),
  )
  .map(
    ([sign, head, tail, point, exponent]) => `${sign}${head}${tail.slice(0, point)}.${tail.slice(point)}${exponent}`,
  );

test('a bare number of 16 significant digits or more is never missed, wherever the chunks are cut', () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.constantFrom('{"a":', '{"a":[', '{"a":[1,'),
      blanks,
      longNumber,
      blanks,
      cuts,
      (json, opening, before, number, after, places) => {
        const closing = opening.includes('[') ? ']' : '';
        const document = `${opening}${before}${number}${after}${closing},"b":${json}}`;
        expect(JSON.parse(document)).toBeTypeOf('object');
        expect(seenBy(new LongNumberSearch(), document, places).hasFound).toBe(true);
      },
    ),
    { numRuns: 1000 },
  );
});

test('a document whose numbers have 15 characters at most raises no alarm, however it is cut', () => {
  const short = fc.integer({ min: -(10 ** 13), max: 10 ** 13 });
  fc.assert(
    fc.property(fc.array(fc.record({ id: fc.constant('12345678901234567890'), n: short })), cuts, (rows, places) => {
      expect(seenBy(new LongNumberSearch(), JSON.stringify({ rows }), places).hasFound).toBe(false);
    }),
  );
});

test('size, first and last character do not depend on how a document is cut', () => {
  fc.assert(
    fc.property(blanks, fc.json(), blanks, cuts, (before, json, after, places) => {
      const document = `${before}${json}${after}`;
      const gauge = seenBy(new PlainGauge(1_000_000, []), document, places);
      const trimmed = json.trim();
      expect(gauge.bytes).toBe(Buffer.byteLength(document));
      expect(gauge.first).toBe(Buffer.from(trimmed).subarray(0, 1).toString('latin1'));
      expect(gauge.last).toBe(Buffer.from(trimmed).subarray(-1).toString('latin1'));
    }),
  );
});

test('the cap is kept to the byte', () => {
  const gauge = new PlainGauge(10, []);
  gauge.see(Buffer.from('0123456789'));
  expect(() => gauge.see(Buffer.from('x'))).toThrow(Failure);
});
