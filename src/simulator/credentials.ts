/** Who may ask: the credential each endpoint wants and how the lack of it is answered (service-interface: Errors). */

import { type Answer } from './answer.ts';
import { errorAnswer } from './error-body.ts';
import { type Endpoint, isCapped } from './routes.ts';

export interface Credentials {
  token(): string;
  /** Puts another token in place; from then on the old one is revoked. */
  setToken(token: string): void;
  isRevoked(token: string): boolean;
  /** The token and all revoked ones. */
  tokens(): readonly string[];
  /** The whole Authorization header of the ad spend endpoint. */
  readonly costCredential: string;
}

export function createCredentials(initial: string, costCredential: string): Credentials {
  const revoked = new Set<string>();
  let current = initial;
  return {
    costCredential,
    token: () => current,
    setToken(token) {
      revoked.add(current);
      revoked.delete(token);
      current = token;
    },
    isRevoked: (token) => revoked.has(token),
    tokens: () => [current, ...revoked],
  };
}

/** The answer to a request that may not ask this endpoint, by its Authorization header; null for one that may. */
export function refusalOf(credentials: Credentials, endpoint: Endpoint, header: string | undefined): Answer | null {
  if (endpoint === 'unknown') return null;
  if (endpoint === 'cost') return costRefusal(credentials, header);
  const scheme = isCapped(endpoint) ? 'Bearer ' : 'Token token=';
  if (header === `${scheme}${credentials.token()}`) return null;
  if (header?.startsWith(scheme) && credentials.isRevoked(header.slice(scheme.length))) {
    return errorAnswer(401, 'empty', '');
  }
  return errorAnswer(401, isCapped(endpoint) ? 'error_code' : 'error_message', 'Credentials incorrect or absent');
}

function costRefusal({ costCredential }: Credentials, header: string | undefined): Answer | null {
  if (header === undefined) return errorAnswer(401, 'error', 'Required authentication information missing');
  return header === costCredential ? null : errorAnswer(403, 'error', 'No permission to post this data');
}
