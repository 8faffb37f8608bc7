/** Values in Thrift's compact protocol, as the headers and the footer of a Parquet file are written. */

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
export function varint(value: number, to: number[] = []): number[] {
  let rest = value;
  while (rest >= 0x80) {
    to.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  to.push(rest);
  return to;
}

/** The bytes of a value. */
export function encoded(value: Value): Uint8Array {
  const to: number[] = [];
  encode(value, to);
  return Uint8Array.from(to);
}

function encode(value: Value, to: number[]): void {
  switch (value.kind) {
    case 'bool':
      to.push(value.is ? TRUE : FALSE);
      return;
    case 'i32':
    case 'i64':
      varint(value.is < 0 ? -2 * value.is - 1 : 2 * value.is, to);
      return;
    case 'text': {
      const bytes = encoder.encode(value.is);
      varint(bytes.length, to);
      for (const byte of bytes) to.push(byte);
      return;
    }
    case 'list': {
      const { length } = value.is;
      const type = wireTypes[value.of];
      if (length < MOST_IN_FOUR_BITS) to.push((length << 4) | type);
      else {
        to.push(0xf0 | type);
        varint(length, to);
      }
      for (const each of value.is) encode(each, to);
      return;
    }
    case 'struct':
  }
  let before = 0;
  for (const [id, field] of value.is) {
    const type = field.kind === 'bool' ? (field.is ? TRUE : FALSE) : wireTypes[field.kind];
    to.push(((id - before) << 4) | type);
    before = id;
    if (field.kind !== 'bool') encode(field, to);
  }
  to.push(0);
}
