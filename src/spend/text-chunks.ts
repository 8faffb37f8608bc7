/** The text of a file, piece by piece: UTF-8 without its byte order mark; bytes that are none become U+FFFD. */

import { createReadStream } from 'node:fs';

import { Failure, textOf } from '../errors.ts';

/** What a byte sequence becomes that is no UTF-8. */
export const NOT_UTF8 = '\uFFFD';

/** No honest line is longer; a quote that is never closed would otherwise fill the memory. */
export const MAX_LINE_CHARACTERS = 1_048_576;

/** The file's text in pieces of any length. Throws `STORAGE_FAILED` when it cannot be read. */
export async function* textChunks(file: string): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  try {
    for await (const chunk of createReadStream(file)) {
      if (Buffer.isBuffer(chunk)) yield decoder.decode(chunk, { stream: true });
    }
  } catch (cause) {
    const text = textOf(cause);
    throw new Failure('STORAGE_FAILED', `${file} could not be read: ${text}`, {
      facts: { file },
      hint: 'Check the permissions of the file.',
      cause,
    });
  }
  yield decoder.decode();
}

/** `SPEND_REJECTED` for a line that did not end. */
export function overlongLine(file: string, line: number): Failure {
  return new Failure('SPEND_REJECTED', `Line ${line} of ${file} had more than ${MAX_LINE_CHARACTERS} characters.`, {
    facts: { file, line, max_characters: MAX_LINE_CHARACTERS },
    hint: 'Look for a quote that is never closed, or a file that is not text; nothing was sent.',
  });
}
