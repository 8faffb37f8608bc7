/** Long numbers go into quotes, everything else stays byte for byte, however the answer is cut into chunks. */

import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { SavedBody } from '../../src/service/service.ts';
import { isLongNumber, LongNumberQuoter, quoteLongNumbers } from '../../src/spool/long-numbers.ts';

/** The text after the quoter, cut into chunks at these places. */
async function quote(text: string, cuts: readonly number[] = []): Promise<string> {
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const quoter = new LongNumberQuoter();
  const out: Buffer[] = [];
  quoter.on('data', (chunk: Buffer) => out.push(chunk));
  for (const [index, start] of [0, ...places].entries()) quoter.write(bytes.subarray(start, places[index]));
  const ended = new Promise((resolve) => quoter.once('end', resolve));
  quoter.end();
  await ended;
  return Buffer.concat(out).toString();
}

describe('a bare number', () => {
  test.each([
    ['0.1234567890123456', true],
    ['1234567890.123456', true],
    ['-1234567890.123456', true],
    ['1.234567890123456e10', true],
    ['1234567890123456e1', true],
    ['0.0000000000000000001', false],
    ['0.00000000000000000012345678901234567', true],
    ['1234567890.12345', false],
    ['123456789012345e300', false],
    ['1e400', false],
    ['0.10000000000000000', true],
    // Whole numbers are read digit by digit, however many there are.
    ['12345678901234567890', false],
    ['0', false],
    ['-', false],
    ['', false],
  ])('%s is long: %j', (text, isLong) => {
    expect(isLongNumber(text)).toBe(isLong);
  });
});

describe('the quoter', () => {
  test.each([
    ['{"a":0.12345678901234567}', '{"a":"0.12345678901234567"}'],
    ['[1.5,0.12345678901234567 ,-9.87654321098765432]', '[1.5,"0.12345678901234567" ,"-9.87654321098765432"]'],
    ['{"a":"0.12345678901234567"}', '{"a":"0.12345678901234567"}'],
    ['{"0.12345678901234567":1}', '{"0.12345678901234567":1}'],
    ['{"a":"\\"0.12345678901234567"}', '{"a":"\\"0.12345678901234567"}'],
    ['{"a":"\\\\","b":0.12345678901234567}', '{"a":"\\\\","b":"0.12345678901234567"}'],
    ['[true,false,null,0.12345678901234567e-3]', '[true,false,null,"0.12345678901234567e-3"]'],
    ['0.12345678901234567', '"0.12345678901234567"'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['{"ü":"統計 0.12345678901234567 é"}', '{"ü":"統計 0.12345678901234567 é"}'],
    ['', ''],
    ['{"a":0.1234567890', '{"a":0.1234567890'],
  ])('makes of %s %s, in one chunk and byte by byte', async (text, expected) => {
    expect(await quote(text)).toBe(expected);
    expect(
      await quote(
        text,
        Array.from({ length: Buffer.byteLength(text) }, (_, index) => index),
      ),
    ).toBe(expected);
  });
});

/** A value with the text it is written as, and what a reader of the rewritten answer must find. */
interface Written {
  readonly text: string;
  readonly read: unknown;
}

const digits = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), minLength: 1, maxLength });

const number: fc.Arbitrary<Written> = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      digits(20).map((text) => `1${text}`),
    ),
    fc.option(digits(25), { nil: '' }),
    fc.constantFrom('', 'e5', 'E-7', 'e+0'),
  )
  .map(([sign, whole, fraction, power]) => {
    const text = `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}${power}`;
    const significant = `${whole}${fraction}`.replace(/^0+/, '');
    const isLong = (fraction !== '' || power !== '') && significant.length > 15;
    return { text, read: isLong ? text : Number(text) };
  });

const nastyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '0', '.', 'e', '-', '1', '\n', 'é', '{', ',') }),
  fc.constant('0.12345678901234567'),
);
const text: fc.Arbitrary<Written> = nastyText.map((value) => ({ text: JSON.stringify(value), read: value }));
const keyword: fc.Arbitrary<Written> = fc
  .constantFrom(true, false, null)
  .map((value) => ({ text: String(value), read: value }));
const blank = fc.constantFrom('', ' ', '\n  ', '\t');

const { value } = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    text,
    keyword,
    fc.tuple(fc.array(tie('value'), { maxLength: 4 }), blank).map(([items, space]) => ({
      text: `[${space}${items.map((item) => item.text).join(`${space},${space}`)}${space}]`,
      read: items.map((item) => item.read),
    })),
    fc
      .tuple(fc.uniqueArray(fc.tuple(nastyText, tie('value')), { selector: ([key]) => key, maxLength: 4 }), blank)
      .map(([entries, space]) => ({
        text: `{${entries.map(([key, item]) => `${space}${JSON.stringify(key)}${space}:${space}${item.text}${space}`).join(',')}}`,
        read: new Map(entries.map(([key, item]) => [key, item.read])),
      })),
  ),
}));

/** Objects as maps, so that a key such as `__proto__` is one like any other. */
function readJson(json: string): unknown {
  const asMaps = (found: unknown): unknown => {
    if (Array.isArray(found)) return found.map(asMaps);
    if (typeof found !== 'object' || found === null) return found;
    return new Map(Object.entries(found).map(([key, item]) => [key, asMaps(item)]));
  };
  return asMaps(JSON.parse(json));
}

const cuts = fc.array(fc.nat(5000), { maxLength: 30 });

test('any JSON, cut anywhere, reads as before, but for long numbers that became texts', async () => {
  await fc.assert(
    fc.asyncProperty(value, cuts, async (document, places) => {
      expect(readJson(await quote(document.text, places))).toEqual(document.read);
    }),
    { numRuns: 1500 },
  );
});

test('the bytes of any JSON without long numbers stay as they are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), cuts, async (json, places) => {
      const short = json.replaceAll(/-?\d+\.\d+(e[+-]?\d+)?|\d+e[+-]?\d+/g, '7');
      expect(await quote(short, places)).toBe(short);
    }),
    { numRuns: 500 },
  );
});

describe('a saved answer', () => {
  const document = '{"rows":[{"cost":0.12345678901234567,"name":"é"}]}';
  const rewritten = '{"rows":[{"cost":"0.12345678901234567","name":"é"}]}';
  let directory = '';

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ripen-long-numbers-'));
  });

  afterAll(async () => {
    await rm(directory, { recursive: true });
  });

  test.each([
    ['identity', 'a.json', Buffer.from(document)],
    ['gzip', 'b.json.gz', gzipSync(document)],
  ] as const)(
    'encoded as %s is rewritten in place, private, uncompressed, and says its new size and checksum',
    async (encoding, name, bytes) => {
      const path = join(directory, name);
      await writeFile(path, bytes);
      const body: SavedBody = {
        path,
        encoding,
        bytes: bytes.length,
        plainBytes: Buffer.byteLength(document),
      };
      const saved = await quoteLongNumbers(body);
      expect(saved).toEqual({
        path: path.replace('.gz', ''),
        encoding: 'identity',
        bytes: Buffer.byteLength(rewritten),
        plainBytes: Buffer.byteLength(rewritten),
      });
      expect(await readFile(saved.path, 'utf8')).toBe(rewritten);
      expect((await stat(saved.path)).mode & 0o077).toBe(0);
      expect(existsSync(path)).toBe(encoding === 'identity');
      expect((await readdir(directory)).filter((each) => each.endsWith('.part'))).toEqual([]);
    },
  );
});
