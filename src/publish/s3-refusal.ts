/** What a store's refusal means to whoever reads of it. Pure. */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { Failure } from '../errors.ts';

/** An error of the SDK, of the socket below it or of a proxy between, as far as it can be read. */
export interface Refusal {
  /** S3's own code, such as `AccessDenied`, or the class of the error. */
  readonly name: string;
  /** HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** Node's code, such as `ECONNRESET`; null when it was no trouble of the wire. */
  readonly code: string | null;
  readonly message: string;
  readonly tries: number;
}

const errorShape = z.object({
  name: z.string().catch('Error'),
  message: z.string().catch(''),
  code: z.string().nullish().catch(null),
  $metadata: z.object({ httpStatusCode: z.number().nullish(), attempts: z.number().nullish() }).nullish().catch(null),
  $response: z.object({ statusCode: z.number().nullish() }).nullish().catch(null),
});

/** Reads whatever was thrown. */
export function refusalOf(error: unknown): Refusal {
  const parsed = errorShape.safeParse(error);
  if (!parsed.success) return { name: 'Error', status: null, code: null, message: String(error), tries: 1 };
  const { name, message, code, $metadata, $response } = parsed.data;
  return {
    name,
    // An answer that is no XML, as proxies give, carries its status in the response alone.
    status: $metadata?.httpStatusCode ?? $response?.statusCode ?? null,
    code: code ?? null,
    message,
    tries: $metadata?.attempts ?? 1,
  };
}

/** The failure to report of what the SDK has given up. */
export function storeFailure(what: string, error: unknown): Failure {
  const refusal = refusalOf(error);
  const { name, status, code, tries } = refusal;
  const found = [...(status === null ? [] : [status]), name === 'Error' ? (code ?? name) : name].join(' ');
  const words = scrub(refusal.message).split('\n')[0] ?? '';
  return new Failure(
    'STORAGE_FAILED',
    `The store did not ${what} (${found}, ${tries === 1 ? '1 try' : `${tries} tries`}): ${words}`,
    { facts: { status, name, tries }, hint: hintFor(refusal), cause: error },
  );
}

function hintFor({ name, status }: Refusal): string {
  if (name === 'NoSuchBucket') return 'Make the bucket, or correct its name.';
  if (status !== null && status >= 300 && status < 400) return "Set the bucket's region beside the target.";
  if (/Signature|AccessKey|Credentials|Token/.test(name)) return 'Correct the credentials in the environment.';
  if (status === 403) {
    return 'Allow s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject on its keys.';
  }
  return 'Run `ripen publish` once the store answers; whole files are in place, it makes the others.';
}
