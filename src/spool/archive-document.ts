/** JSON documents of the archive: any content, under a checksum of itself. Pure. */

import { createHash } from 'node:crypto';

import * as z from 'zod';

/** Counts up with a change that an older ripen would misread. */
const FORMAT = 1;

const documentShape = z.object({ format: z.literal(FORMAT), sha256: z.string(), content: z.unknown() });

/** What is wrong with something found in the archive. */
export interface Flaw {
  readonly because: string;
}

/** Something in the archive that cannot be loaded. */
export interface Damage extends Flaw {
  readonly path: string;
}

/** The content as a document; it has to survive JSON. */
export function documentText(content: unknown): string {
  return `${JSON.stringify({ format: FORMAT, sha256: checksumOf(content), content })}\n`;
}

/** A document's content in its shape, or what is wrong with it; `name` is what the reader knows it by. */
export function parseDocument<T extends object>(text: string, shape: z.ZodType<T>, name: string): T | Flaw {
  const document = documentShape.safeParse(parsedJson(text));
  if (!document.success) return { because: `${name} was not of the archive's form` };
  if (checksumOf(document.data.content) !== document.data.sha256) {
    return { because: `the checksum of ${name} did not match` };
  }
  const content = shape.safeParse(document.data.content);
  return content.success ? content.data : { because: `${name} did not hold what it should` };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function checksumOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
