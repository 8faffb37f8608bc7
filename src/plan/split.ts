/** Divides a window that was too heavy into parts that cover exactly the whole. Pure. */

import {
  hasRoom,
  type KnownValue,
  type KnownValues,
  ownValues,
  type Part,
  partId,
  VALUES_SHARE,
  valuesOf,
  wholeOf,
  type Window,
} from '../model/window.ts';
import { sumOf } from '../model/measure.ts';
import { MAX_URL_BYTES, type Slice } from '../model/slice.ts';

/** If a window still fails in this many parts, splitting cannot help. */
const MAX_PARTS = 64;

/** Null if a part cannot be divided, or for too many parts. */
export function splitParts(
  window: Window,
  ids: ReadonlySet<string>,
  known: KnownValues,
): Window | null {
  const parts = window.parts.map((part) =>
    ids.has(partId(part)) ? dividePart(window, part, known) : [part],
  );
  const divided = parts.flatMap((halves) => halves ?? []);
  const isDivided = divided.length === window.parts.length + ids.size && ids.size > 0;
  return isDivided && divided.length <= MAX_PARTS ? { ...window, parts: divided } : null;
}

interface Division {
  readonly halves: readonly [Part, Part];
  readonly imbalance: number;
}

function dividePart(window: Window, part: Part, known: KnownValues): readonly [Part, Part] | null {
  const { slice } = window;
  // Two lists need no totals of their whole.
  const [list] = Object.keys(wholeOf(window, part));
  const byList = list === undefined ? null : divideValues(slice, part, list, known.get(list) ?? []);
  if (byList !== null) return byList.halves;
  const divisions = [...known].flatMap(([dimension, values]) => {
    const division = divideValues(slice, part, dimension, values);
    return division === null ? [] : [division];
  });
  const [best] = divisions.sort((a, b) => a.imbalance - b.imbalance);
  return best?.halves ?? null;
}

function divideValues(
  slice: Slice,
  part: Part,
  dimension: string,
  known: readonly KnownValue[],
): Division | null {
  const filtered = ownValues(slice, dimension);
  const { in: wanted, notIn } = valuesOf(part, dimension);
  const values = wanted?.map(
    (value) => known.find((knownValue) => knownValue.value === value) ?? { value, rows: 1 },
  );
  const candidates = (values ?? known)
    .filter(({ value }) => isSendable(value))
    .filter(({ value }) => (filtered?.includes(value) ?? true) && !notIn.includes(value))
    .toSorted((a, b) => b.rows - a.rows || (a.value < b.value ? -1 : 1));
  const total = sumOf(candidates.map(({ rows }) => rows));
  const room = VALUES_SHARE * (slice.maxUrlBytes ?? MAX_URL_BYTES) - encodedLength(valuesIn(part));
  let division: Division | null = null;
  // At least one value is left: taking the last would exceed half.
  for (let count = 1; count < candidates.length; count += 1) {
    const taken = candidates.slice(0, count);
    const rows = sumOf(taken.map((value) => value.rows));
    const chosen = taken.map(({ value }) => value);
    const halves: [Part, Part] = [
      { ...part, [dimension]: { in: chosen, notIn: [] } },
      {
        ...part,
        [dimension]:
          wanted === null
            ? { in: null, notIn: [...notIn, ...chosen] }
            : { in: wanted.filter((value) => !chosen.includes(value)), notIn },
      },
    ];
    const isHalf = rows > total / 2 && count > 1;
    const isLong =
      (wanted === null && encodedLength(chosen) > room) ||
      !halves.every((half) => hasRoom(slice, half));
    if (isHalf || isLong) break;
    division = { halves, imbalance: Math.abs(total - 2 * rows) / total };
  }
  return division;
}

const valuesIn = (part: Part) =>
  Object.values(part).flatMap((values) => (values.in ?? []).concat(values.notIn));

const encodedLength = (values: readonly string[]) => encodeURIComponent(values.join(',')).length;

/** A comma in a list cannot be escaped, and an empty value would read as no list. */
function isSendable(value: string) {
  return value !== '' && !value.includes(',') && value.trim() === value;
}
