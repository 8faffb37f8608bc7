/** What a document says of its pages is what a parser would say, wherever it stands and in whatever pieces it comes. */

import { Readable } from 'node:stream';

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { paginationIn, PaginationScan } from '../../src/service/pagination-scan.ts';

const spelled = String.raw`"pagination": {"next": "x"}`;
const text = fc.oneof(
  fc.string(),
  fc.constantFrom('pagination', spelled, '\\', '"', '\\"', '{', '}]', '\\"pagination\\":'),
);
const value = fc.oneof(text, fc.integer(), fc.constant(null), fc.record({ next: text, pagination: text }));
const member = fc.tuple(
  fc.constantFrom('debug', 'totals', 'meta', 'warnings', 'paginations'),
  fc.oneof(value, fc.array(value)),
);
const pagination = fc.oneof(
  fc.constant(null),
  fc.record({ next: fc.oneof(text, fc.constant(null)), page: fc.integer() }),
);

/** A document's members in any order, with its own `pagination` among them or without one. */
const members = fc
  .tuple(
    fc.uniqueArray(member, { selector: ([name]) => name, maxLength: 4 }),
    fc.array(fc.record({ pagination: value, network: text }), { maxLength: 4 }),
    fc.option(pagination, { nil: undefined }),
  )
  .chain(([others, rows, own]) => {
    const all: readonly (readonly [string, unknown])[] = [['rows', rows], ...others];
    const named = own === undefined ? all : [...all, ['pagination', own] as const];
    return fc.shuffledSubarray([...named], { minLength: named.length });
  });

test('the pagination of a document is found as a parser finds it', async () => {
  await fc.assert(
    fc.asyncProperty(members, fc.boolean(), fc.integer({ min: 1, max: 40 }), async (inOrder, isIndented, size) => {
      const document = Object.fromEntries(inOrder);
      const bytes = Buffer.from(JSON.stringify(document, null, isIndented ? 2 : 0));
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const scan = new PaginationScan();
      for (const piece of pieces) scan.see(piece);
      const whole = await paginationIn(Readable.from(pieces));
      expect(whole).toEqual(document['pagination'] ?? null);
      expect(scan.found === undefined ? whole : scan.found).toEqual(whole);
    }),
    { numRuns: 500 },
  );
});
