/** Foreign text made fit for a message: no secret, no control character, one line, short. */

import { scrub } from '../config/secret.ts';

const MAX_CHARACTERS = 200;

/** The first words of a foreign text, at most `maxCharacters`; empty for blank text. */
export function firstWords(text: string, maxCharacters = MAX_CHARACTERS): string {
  // Scrubbed before it is cut: half a token is still half a token.
  const clean = scrub(text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return clean.length <= maxCharacters ? clean : `${clean.slice(0, maxCharacters - 1)}…`;
}
