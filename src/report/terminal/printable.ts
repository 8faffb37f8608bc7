/** Makes outside text safe to show: it cannot repaint a terminal, forge log lines or turn text. */

import { scrubbedJson } from '../../config/secret.ts';

/** Control characters except tab and line feed, and marks that change the direction of text. */
const unprintable = /(?![\t\n])\p{Cc}|\p{Bidi_Control}/gu;

export function printable(text: string): string {
  return text.replaceAll(unprintable, '');
}

export function oneLine(text: string): string {
  return printable(text.replaceAll(/\s+/g, ' ')).trim();
}

/** Scrubbed and with control characters escaped. Scrubbing it again could damage a number or name. */
export class JsonLine {
  readonly text: string;

  constructor(value: unknown) {
    const escaped = (mark: string) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`;
    this.text = scrubbedJson(value).replaceAll(unprintable, escaped);
  }
}

export function snakeCased(fields: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}
