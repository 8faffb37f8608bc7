import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

import { array, assert, asyncProperty, constant, integer, oneof, string } from 'fast-check';
import { expect, test } from 'vitest';

import { Secret } from '../../src/config/secret.ts';
import { Scrubbing } from '../../src/spool/scrubbing.ts';

const secret = new Secret('scrub-me-7f3a');

test('a secret that comes in any number of pieces is gone, and every other byte is as it was', async () => {
  await assert(
    asyncProperty(
      array(oneof(constant(secret.reveal()), string({ unit: 'grapheme' })), { maxLength: 8 }),
      integer({ min: 1, max: 9 }),
      async (texts, size) => {
        const whole = Buffer.from(texts.join('|'));
        const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
          whole.subarray(index * size, (index + 1) * size),
        );
        const clean = await buffer(Readable.from(pieces, { objectMode: false }).pipe(new Scrubbing()));
        expect(clean.toString()).toBe(whole.toString().replaceAll(secret.reveal(), '***'));
      },
    ),
  );
});
