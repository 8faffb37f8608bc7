import { expect, test } from 'vitest';
import { parseJson } from '../../src/service/body.ts';

test('integers of 16 digits and more keep every digit, as strings', () => {
  expect(parseJson('{"id":9007199254740993,"b":[-12345678901234567890],"c":174}')).toEqual({
    id: '9007199254740993',
    b: ['-12345678901234567890'],
    c: 174,
  });
});

test('digits inside strings, keys and fractions are left as they are', () => {
  const text = String.raw`{"9007199254740993":"a \" 9007199254740993","x":0.1234567890123456789,"y":1234567890123456789e2}`;
  expect(parseJson(text)).toEqual(JSON.parse(text));
});

test('broken JSON with long integers is still an error', () => {
  expect(() => parseJson('{"id":9007199254740993,')).toThrow(SyntaxError);
});
