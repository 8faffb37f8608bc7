/** Report documents by a seed: most are what a service sends, some are odd in one place, some are broken. */

import { BIGINT, type ColumnType, decimalType, DOUBLE } from '../../src/model/column-type.ts';
import { isDateDimension } from '../../src/model/dimension.ts';
import type { SliceColumns } from '../../src/extract/columns/reading.ts';
import { choose, fraction, mix } from '../../src/simulator/world/hash.ts';

/** Slices that have every kind of column between them. */
export const slices: readonly SliceColumns[] = [
  {
    dimensions: ['day', 'app', 'network'],
    metrics: [
      { id: 'installs', type: BIGINT },
      { id: 'cost', type: decimalType(18, 6) },
      { id: 'ecpi', type: DOUBLE },
    ],
  },
  {
    dimensions: ['week', 'hour', 'campaign'],
    metrics: [
      { id: 'clicks', type: BIGINT },
      { id: 'rate', type: decimalType(5, 2) },
      { id: 'share', type: decimalType(18, 18) },
      { id: 'whole', type: decimalType(18, 0) },
      { id: 'roas_d30', type: DOUBLE },
    ],
  },
  {
    dimensions: ['country_code', 'year', 'quarter', 'month'],
    metrics: [{ id: 'revenue', type: decimalType(12, 3) }],
  },
];

/** Choices that follow from a seed. */
class Chance {
  #state: number;
  #drawn = 0;

  constructor(seed: number) {
    this.#state = mix(seed, 0x5eed);
  }

  number(count: number): number {
    this.#drawn += 1;
    return choose(mix(this.#state, this.#drawn), count);
  }

  is(probability: number): boolean {
    this.#drawn += 1;
    return fraction(mix(this.#state, this.#drawn)) < probability;
  }

  one<T>(...of: readonly T[]): T {
    const found = of[this.number(of.length)];
    if (found === undefined) throw new RangeError('There was nothing to choose from.');
    return found;
  }

  digits(most: number): string {
    return Array.from({ length: 1 + this.number(most) }, () => this.number(10)).join('');
  }
}

/** Texts that stand in lines, with bars between them. */
const listed = (...lines: readonly string[]): string[] => lines.flatMap((line) => line.split('|'));

const pieces = listed('a|Network |€|日本|😀|é|\\n|\\"|\\\\|\\/|\\u00e9|\\ud83d\\ude00');
const morePieces = listed(
  '\\u20ac|}|{|,|:|[]| |\u0301|\u2028|\\b\\f\\r\\t|xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
);
const oddTexts = listed(
  '"\\ud800"|"\\udc00x"|"\\ud800\\u0041"|"\\x"|"\\u12g4"|"\\u0000"|5|true|["a"]|{"a":1}|"a\tb"|"a\u0000b"',
  '""""|\'a\'|"\\u00"|1.50|nul|"unfinished|',
);

function textCell(chance: Chance): string {
  if (chance.is(0.05)) return 'null';
  const length = chance.number(4);
  return `"${Array.from({ length }, () => chance.one(...pieces, ...morePieces, ...pieces)).join('')}"`;
}

function dateLabel(chance: Chance, kind: string): string {
  const year = 2020 + chance.number(8);
  const month = String(1 + chance.number(12)).padStart(2, '0');
  const day = `${year}-${month}-${String(1 + chance.number(28)).padStart(2, '0')}`;
  const week = (days: number): string =>
    new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
  const two = (below: number): string => String(chance.number(below)).padStart(2, '0');
  switch (kind) {
    case 'hour':
      return `${day}T${two(24)}:${two(60)}:${two(60)}`;
    case 'week':
      return `${day} - ${week(chance.one(6, 6, 3))}`;
    case 'month':
      return `${year}-${month}`;
    case 'quarter':
      return `Q${1 + chance.number(4)} ${year}`;
    case 'year':
      return String(year);
    default:
      return day;
  }
}

const oddDates = listed(
  '2026-02-30|2026-13-01|2026-1-1|0000-01-01|2026-02-29|2024-02-29|9999-12-31|2026-01-01T24:00:00',
  '2026-01-01T23:59:60|2026-01-01T10:00:00Z|2026-01-01T10:00|Q5 2026|Q0 2026|1 2026|2026-00|2026-13|26|| ',
  '2026-01-04 - 2026-02-31|2026-01-05 - 2026-01-11|2026-01-05-2026-01-11|2400-01-01T00:00:00|infinity|epoch',
);

/** A number that the column holds, in one of the forms a service may choose. */
function numberText(chance: Chance, type: ColumnType): string {
  const sign = chance.one('', '', '', '-');
  if (type.kind === 'BIGINT')
    return `${sign}${chance.digits(chance.one(3, 9, 18))}${chance.one('', '', '.0', '.000')}`;
  if (type.kind === 'DOUBLE')
    return `${sign}${chance.digits(chance.one(2, 9, 25))}.${chance.digits(chance.one(3, 9, 25))}`;
  const { whole: most, fraction: scale } = type;
  const whole = most === 0 ? '0' : chance.digits(chance.one(3, most));
  if (scale === 0) return sign + whole.slice(0, most);
  const fraction = chance.digits(chance.one(2, scale)).slice(0, scale);
  return `${sign}${whole.slice(0, Math.max(1, most))}${chance.one(`.${fraction}`, `.${fraction}0000`, '', '.0')}`;
}

const oddNumbers = listed(
  '7.5|1e5|1E-7|+1|0x10|1_000|1,000|NaN|inf|-|.5|5.| 1|1 |1 2|--1|1.2.3|00|-0|-0.0|007|0.0000001|1e400',
  '99999999999999999999|999999999999999999|123456789012.123456|0.1234567|9007199254740993|1e-5|"|\\u0031',
);
const bareOddities = listed('true|{}|[]|[1]|nul|01|-|1.|.1|+1|1e5|1.5e-3|NaN|-0|--1');

function metricCell(chance: Chance, type: ColumnType): string {
  const kind = chance.number(20);
  if (kind === 0) return 'null';
  if (kind === 1) return chance.one('""', '" "', '"   "');
  const text = numberText(chance, type);
  // JSON has no leading zeros.
  if (kind < 6) return text.replace(/^(-?)0+(?=\d)/, '$1').replace(/^-0$/, '0');
  return `"${text}"`;
}

/** Some cell that a service should not send. */
function oddCell(chance: Chance, kind: string): string {
  if (kind === 'number') {
    const text = chance.one(...oddNumbers);
    return chance.is(0.7) ? `"${text}"` : chance.one(text, chance.one(...bareOddities));
  }
  if (kind === 'text') return chance.one(...oddTexts);
  const label = chance.one(...oddDates);
  return chance.one(`"${label}"`, `"${label}"`, `"${label}"`, 'null', '5', '"\\u0032026-01-01"');
}

const attributes = listed(
  '{}|{}|{"partner_id":"100"}|{ "partner_id" : "7" }|{"a":"}","b":"{\\""}',
  '{"n":5,"x":[1,{"y":null}],"t":true}|{"a":"\\u00e9\\/","b":"日"}|{"a":1,"a":2}',
  '{"partner_id":"7","partner":"p"}|{"partner":"p","partner_id":"7"}|{"c":"","b":"日","a":"1"}',
);
const keys = listed('partner|partner_id|a|B||10|9|__proto__|é|\\u0061|b,{|\\"| ');
const leaves = listed(
  '"100"|"p"|null|true|false|7|-5|-0|12345678901234567890123|""|"\\u0001"|"\\u001F\\ud83d\\ude00"',
  '"\u2028\u0085"|{}|[]|"}]"|18446744073709551616',
);
const oddAttributes = listed(
  'null|[]|"{}"|{"a":1.50}|{"a":1e5}|{"a":}|{a:1}|{"a":"\\ud800"}|{|5|{"a":12345678901234567890123}',
  '{"a":0.1234567890123456789}|{"a":-0}|{"a":01}|{"a":1,}',
);

const besides = listed(
  '"warnings":[]|"warnings":["a \\"b\\"", "c"]|"pagination":null|"data_warnings":[]',
  '"totals":{"installs":10.0,"cost":"1.50"}|"totals":{"cost":1234.5}|"request_id":"x"|"meta":{"a":[]}',
);
const oddBesides = listed(
  '"rows":[]|"rows":null|"totals":null|"totals":{"a":}|"warnings":"w"|"x":tru|"x":1e999',
  '"pagination":{"next":"/2"}|"error":"no"|"ro\\u0077s":[]|"x":"\\ud800"|"x":01|"x"',
);

/** What may be odd about a document beside one of its cells. */
const oddities = listed(
  'cell|cell|cell|cell|cell|attribute|beside|key order|key twice|key missing|key added|bytes|cut|tail',
);

/** The document of a slice that follows from a seed, and whether something about it was meant to be odd. */
export function reportDocument(
  columns: SliceColumns,
  seed: number,
): { readonly body: Buffer; readonly isOdd: boolean } {
  const chance = new Chance(seed);
  const oddity = chance.is(0.6) ? chance.one(...oddities) : null;
  const blank = chance.one(['', ''], ['', ''], [' ', ' '], ['', ' '], ['\n  ', ' ']);
  const hasAttributes = chance.is(0.8);
  const rowCount = chance.number(5);
  const oddRow = chance.number(Math.max(1, rowCount));
  const cells = [
    ...(hasAttributes ? [{ name: 'attr_dependency', kind: 'object', type: null }] : []),
    ...columns.dimensions.map((name) => ({
      name,
      kind: isDateDimension(name) ? name : 'text',
      type: null,
    })),
    ...columns.metrics.map(({ id, type }) => ({ name: id, kind: 'number', type })),
  ];
  const turned = chance.number(cells.length);
  const ordered = [...cells.slice(turned), ...cells.slice(0, turned)];
  const oddPlace = chance.number(ordered.length);
  const before = new Map<string, string>();
  const rows = Array.from({ length: rowCount }, (_, row) => {
    const isOdd = row === oddRow;
    const isRepeated = chance.is(0.1);
    const members = ordered.map(({ name, kind, type }, place) => {
      const isMoreOdd = (kind === 'number' || kind === 'text') && chance.is(0.1);
      const isOddCell =
        oddity === 'cell' && kind !== 'object' && ((isOdd && place === oddPlace) || isMoreOdd);
      const last = isRepeated && !isOdd && type === null ? before.get(name) : undefined;
      const isOddAttribute = isOdd && oddity === 'attribute';
      const cell = isOddCell
        ? oddCell(chance, kind)
        : last === undefined
          ? plainCell(chance, kind, type, isOddAttribute)
          : respelled(chance, kind, last);
      before.set(name, cell);
      return `"${name}":${blank[1] ?? ''}${cell}`;
    });
    if (isOdd && oddity === 'key order') members.reverse();
    if (isOdd && oddity === 'key twice') members.push(members[oddPlace] ?? '');
    if (isOdd && oddity === 'key missing') members.splice(oddPlace, 1);
    if (isOdd && oddity === 'key added')
      members.splice(oddPlace, 0, chance.one('"x":1', '"inst\\u0061lls":"1"', '"":""'));
    return `{${members.join(`,${blank[0] ?? ''}`)}}`;
  });
  const separator = chance.is(0.1) ? ' ,\n' : `,${blank[0] ?? ''}`;
  const others = new Set<string>(
    Array.from({ length: chance.number(4) }, () => chance.one(...besides)),
  );
  const names = new Set<string>();
  const envelope = [...others].filter((member) => {
    const name = member.slice(0, member.indexOf(':'));
    const isNew = !names.has(name);
    names.add(name);
    return isNew;
  });
  if (oddity === 'beside') envelope.push(chance.one(...oddBesides));
  envelope.splice(
    chance.number(envelope.length + 1),
    0,
    `"rows":${blank[1] ?? ''}[${rows.join(separator)}]`,
  );
  const text = `{${envelope.join(`,${blank[1] ?? ''}`)}}${chance.one('', '\n')}`;
  return { body: broken(chance, Buffer.from(text), oddity), isOdd: oddity !== null };
}

function plainCell(
  chance: Chance,
  kind: string,
  type: ColumnType | null,
  isOddAttribute: boolean,
): string {
  if (type !== null) return metricCell(chance, type);
  if (kind === 'text') return textCell(chance);
  if (kind !== 'object') return `"${dateLabel(chance, kind)}"`;
  if (isOddAttribute) return chance.one(...oddAttributes);
  return chance.is(0.5) ? chance.one(...attributes) : objectText(chance, 0);
}

/** An object of any keys, in any order, some of them twice, and of any values. */
function objectText(chance: Chance, depth: number): string {
  const blank = chance.one('', '', ' ', '\n\t');
  const value = (): string => {
    if (depth > 2 || chance.is(0.7)) return chance.one(...leaves);
    if (chance.is(0.6)) return objectText(chance, depth + 1);
    return `[${Array.from({ length: chance.number(4) }, () => value()).join(`${blank},`)}]`;
  };
  const members = Array.from(
    { length: chance.number(5) },
    () => `${blank}"${chance.one(...keys)}"${blank}:${value()}`,
  );
  return `{${members.join(`,${blank}`)}${blank}}`;
}

/** An object of texts without escapes and brackets. */
const flatObject = /^\{"[^"\\{}[\]]*":"[^"\\{}[\]]*"(,"[^"\\{}[\]]*":"[^"\\{}[\]]*")*\}$/;

/**
 * The same value, of a text sometimes with its first letter escaped, of an object sometimes with a blank more or its members
 * turned round.
 */
function respelled(chance: Chance, kind: string, cell: string): string {
  if (chance.is(0.5)) return cell;
  if (kind === 'object' && flatObject.test(cell) && chance.is(0.5))
    return `{${cell
      .slice(1, -1)
      .split(/,(?=")/)
      .toReversed()
      .join(',')}}`;
  if (kind === 'object') return cell.replace('{', '{ ');
  if (kind !== 'text') return cell;
  return cell.replace(
    /^"([a-z])/,
    (_, letter: string) => String.raw`"\u00${letter.charCodeAt(0).toString(16)}`,
  );
}

const strayBytes = [
  0x22, 0x5c, 0x2c, 0x7d, 0x7b, 0x5d, 0x30, 0x2e, 0x2d, 0x20, 0x00, 0xff, 0xc3, 0xed, 0x65,
] as const;

/** The document with one or two bytes changed, cut short, or with something around it. */
function broken(chance: Chance, body: Buffer, oddity: string | null): Buffer {
  if (oddity === 'cut') return body.subarray(0, chance.number(body.length));
  if (oddity === 'tail') {
    const tail = chance.one('{}', 'x', '\u0000', ',', '{"rows":[]}', '\n\n', '}');
    return chance.is(0.8)
      ? Buffer.concat([body, Buffer.from(tail)])
      : Buffer.concat([Buffer.from('\u{feff}'), body]);
  }
  if (oddity !== 'bytes') return body;
  const bytes = [...body];
  for (let change = chance.number(2); change >= 0; change -= 1) {
    const at = chance.number(bytes.length);
    const byte = chance.is(0.5)
      ? chance.one(...strayBytes)
      : (body[chance.number(body.length)] ?? 0);
    bytes.splice(at, chance.number(2), ...(chance.is(0.7) ? [byte] : []));
  }
  return Buffer.from(bytes);
}
