/**
 * Text from outside, made safe to show: names, service messages and paths may hold control sequences that repaint a
 * terminal, line breaks that forge a line of a log, or marks that turn the reading direction.
 */

import { scrubbedJson } from '../config/secret.ts';

/** Every control character but tab and line feed, and the marks that change the direction of text. */
const unprintable = /(?![\t\n])\p{Cc}|\p{Bidi_Control}/gu;

/** The text without control characters; line feeds and tabs stay. What a lost escape introduced is left, as text. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, '');
}

/** The text on one line, without control characters; every run of blanks is one space. */
export function oneLine(text: string): string {
  return printable(text.replaceAll(/\s+/g, ' ')).trim();
}

/**
 * A value as JSON on one line, its texts scrubbed of secrets, with the control characters that JSON allows bare escaped too. It is
 * safe to write as it is: to scrub it once more could take a number or a name of it apart.
 */
export class JsonLine {
  readonly text: string;

  constructor(value: unknown) {
    const escaped = (mark: string): string => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`;
    this.text = scrubbedJson(value).replaceAll(unprintable, escaped);
  }
}

/** The fields of an object under the names that JSON has for them: `partnerId` as `partner_id`. */
export function snakeCased(fields: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}
