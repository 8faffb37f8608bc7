/** A key and a certificate that signs itself, made by `openssl`. */

import { execFileSync } from 'node:child_process';

/** Writes both for a host, such as `DNS:example.com` or `IP:127.0.0.1`; false on a machine without `openssl`. */
export function writeCertificate(
  host: string,
  { key, cert }: { readonly key: string; readonly cert: string },
): boolean {
  const subject = [
    '-subj',
    `/CN=${host.replace(/^\w+:/, '')}`,
    '-addext',
    `subjectAltName=${host}`,
  ];
  const kind = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
  ];
  try {
    execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...subject], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}
