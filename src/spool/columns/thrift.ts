/** Thrift's compact protocol, as much of it as a Parquet footer needs. */

type Field = readonly [id: number, value: Value];

/** A value with its wire type. Structs list their fields by rising ids. */
export type Value =
  | { readonly kind: 'bool'; readonly is: boolean }
  | { readonly kind: 'i32' | 'i64'; readonly is: number }
  | { readonly kind: 'text'; readonly is: string }
  | { readonly kind: 'list'; readonly of: 'i32' | 'text' | 'struct'; readonly is: readonly Value[] }
  | { readonly kind: 'struct'; readonly is: readonly Field[] };

export const i32 = (is: number): Value => ({ kind: 'i32', is });
export const i64 = (is: number): Value => ({ kind: 'i64', is });
export const text = (is: string): Value => ({ kind: 'text', is });
export const bool = (is: boolean): Value => ({ kind: 'bool', is });
export const struct = (...is: readonly Field[]): Value => ({ kind: 'struct', is });
export const list = (of: 'i32' | 'text' | 'struct', is: readonly Value[]): Value => ({ kind: 'list', of, is });

/** Numbers of the wire types; a boolean's is its value. */
const wireTypes = { i32: 5, i64: 6, text: 8, list: 9, struct: 12 } as const;
const TRUE = 1;
const FALSE = 2;
/** Longer distances and lengths do not fit the four bits beside the type. */
const MOST_IN_FOUR_BITS = 15;

const encoder = new TextEncoder();

/** A number in groups of seven bits, the lowest first. Whole and not negative. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return [...bytes, rest];
}

const zigzag = (value: number): number[] => varint(value < 0 ? -2 * value - 1 : 2 * value);

/** The bytes of a value. */
export function encode(value: Value): number[] {
  switch (value.kind) {
    case 'bool':
      return [value.is ? TRUE : FALSE];
    case 'i32':
    case 'i64':
      return zigzag(value.is);
    case 'text': {
      const bytes = encoder.encode(value.is);
      return [...varint(bytes.length), ...bytes];
    }
    case 'list': {
      const { length } = value.is;
      const type = wireTypes[value.of];
      const head = length < MOST_IN_FOUR_BITS ? [(length << 4) | type] : [0xf0 | type, ...varint(length)];
      return [...head, ...value.is.flatMap(encode)];
    }
    case 'struct':
  }
  return [...encodeFields(value.is), 0];
}

function encodeFields(fields: readonly Field[]): number[] {
  let before = 0;
  return fields.flatMap(([id, value]) => {
    const distance = id - before;
    before = id;
    if (value.kind === 'bool') return [(distance << 4) | (value.is ? TRUE : FALSE)];
    return [(distance << 4) | wireTypes[value.kind], ...encode(value)];
  });
}
