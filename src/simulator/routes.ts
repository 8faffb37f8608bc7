/** The routes of the service: the endpoint of a method and path, and its credential (service-interface: Endpoints). */

import { type SimulatedAnswer, errorAnswer } from './answer.ts';

export type Endpoint =
  | 'report'
  | 'filters_data'
  | 'partners'
  | 'links'
  | 'children'
  | 'create_link'
  | 'update_link'
  | 'cost'
  | 'unknown';

export interface Route {
  readonly endpoint: Endpoint;
  /** Empty if the path names none, as is `linkToken`. */
  readonly appToken: string;
  readonly linkToken: string;
  readonly version: 'v1' | 'v2';
}

const APP = '/public/(?<version>v[12])/apps/(?<app>[^/]+)/trackers';
const APP_V1 = '/public/(?<version>v1)/apps/(?<app>[^/]+)/trackers';

const table: readonly {
  readonly method: string;
  readonly path: RegExp;
  readonly endpoint: Endpoint;
}[] = [
  { method: 'GET', path: /^\/reports-service\/report$/, endpoint: 'report' },
  { method: 'GET', path: /^\/reports-service\/filters_data$/, endpoint: 'filters_data' },
  { method: 'GET', path: /^\/public\/v1\/partners$/, endpoint: 'partners' },
  { method: 'GET', path: new RegExp(`^${APP}$`), endpoint: 'links' },
  { method: 'GET', path: new RegExp(`^${APP}/(?<link>[^/]+)/children$`), endpoint: 'children' },
  { method: 'POST', path: new RegExp(`^${APP_V1}$`), endpoint: 'create_link' },
  { method: 'PATCH', path: new RegExp(`^${APP_V1}/(?<link>[^/]+)$`), endpoint: 'update_link' },
  { method: 'POST', path: /^\/cost$/, endpoint: 'cost' },
];

export function routeOf(method: string, path: string): Route {
  const found = table.find((entry) => entry.method === method && entry.path.test(path));
  const groups = found?.path.exec(path)?.groups;
  return {
    endpoint: found?.endpoint ?? 'unknown',
    appToken: groups?.['app'] ?? '',
    linkToken: groups?.['link'] ?? '',
    version: groups?.['version'] === 'v2' ? 'v2' : 'v1',
  };
}

/** service-interface: Limits. */
export function isCapped(endpoint: Endpoint): boolean {
  return endpoint === 'report' || endpoint === 'filters_data';
}

export interface Credentials {
  readonly token: string;
  /** The whole Authorization header of the ad spend endpoint. */
  readonly costCredential: string;
}

/** Refuses a request without its endpoint's credential (service-interface: Errors). */
export function refusalOf(
  { token, costCredential }: Credentials,
  endpoint: Endpoint,
  header?: string,
): SimulatedAnswer | null {
  if (endpoint === 'unknown') return null;
  if (endpoint === 'cost') {
    if (header === undefined)
      return errorAnswer(401, 'error', 'Required authentication information missing');
    return header === costCredential
      ? null
      : errorAnswer(403, 'error', 'No permission to post this data');
  }
  if (header === `${isCapped(endpoint) ? 'Bearer ' : 'Token token='}${token}`) return null;
  return errorAnswer(
    401,
    isCapped(endpoint) ? 'error_code' : 'error_message',
    'Credentials incorrect or absent',
  );
}
