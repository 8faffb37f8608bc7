import { describe, expect, test } from 'vitest';

import { CsvSplitter, type CsvRecord } from '../../src/spend/csv-splitter.ts';

/** The records of a text that arrives in pieces of a size. */
function split(text: string, size = text.length): CsvRecord[] {
  const splitter = new CsvSplitter();
  const records: CsvRecord[] = [];
  for (let start = 0; start < text.length; start += size) {
    records.push(...splitter.push(text.slice(start, start + size)));
  }
  return [...records, ...splitter.end()];
}

const record = (line: number, fields: string[], defect: string | null = null): CsvRecord => ({ line, fields, defect });

describe('CSV', () => {
  const cases: readonly [string, string, CsvRecord[]][] = [
    ['two lines', 'a,b\n1,2\n', [record(1, ['a', 'b']), record(2, ['1', '2'])]],
    ['no line break at the end', 'a,b\n1,2', [record(1, ['a', 'b']), record(2, ['1', '2'])]],
    ['CRLF', 'a\r\nb\r\n', [record(1, ['a']), record(2, ['b'])]],
    ['lone carriage returns', 'a\rb\r', [record(1, ['a']), record(2, ['b'])]],
    ['blank lines, which count and are no records', '\n\na\n  \r\n\nb', [record(3, ['a']), record(6, ['b'])]],
    ['line breaks inside quotes', '"x\ny\r\nz",1\nb,2', [record(1, ['x\ny\r\nz', '1']), record(4, ['b', '2'])]],
    ['doubled quotes and commas inside quotes', '"say ""hi"", you",2', [record(1, ['say "hi", you', '2'])]],
    ['an empty quoted value beside an empty one', '"",\n', [record(1, ['', ''])]],
    ['a quote inside a bare value', '5" disk,1', [record(1, ['5" disk', '1'])]],
    ['text after a closing quote', '"a"b,1', [record(1, ['ab', '1'], 'a value went on after its closing quote')]],
    [
      'text after a closing quote, and good lines behind it',
      'a\n"b"c,"d\ne"\n3\n4',
      [
        record(1, ['a']),
        record(2, ['bc', 'd\ne'], 'a value went on after its closing quote'),
        record(4, ['3']),
        record(5, ['4']),
      ],
    ],
    [
      'a quote that is never closed',
      'a\n"b,1\nc\n',
      [
        record(1, ['a']),
        record(2, ['b,1\nc\n'], 'a quote was never closed: all that follows it was read as one value'),
      ],
    ],
    ['nothing', '', []],
  ];

  test.each(cases)('with %s is read the same whole and in pieces of 1, 2 and 3 characters', (_what, text, expected) => {
    expect(split(text)).toEqual(expected);
    for (const size of [1, 2, 3]) expect(split(text, size)).toEqual(expected);
  });
});
