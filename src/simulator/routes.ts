/** The endpoint of a method and path, and its credential (service-interface: Endpoints). */

import { type SimulatedAnswer, errorAnswer } from './answer.ts';

export interface Route {
  readonly endpoint: Endpoint;
  /** Empty if the path names none, as is `linkToken`. */
  readonly appToken: string;
  readonly linkToken: string;
  readonly version: 'v1' | 'v2';
}

const APP = '/public/(?<version>v[12])/apps/(?<app>[^/]+)/trackers';
const APP_V1 = '/public/(?<version>v1)/apps/(?<app>[^/]+)/trackers';

const table = [
  ['GET', /^\/reports-service\/report$/, 'report'],
  ['GET', /^\/reports-service\/filters_data$/, 'filters_data'],
  ['GET', /^\/public\/v1\/partners$/, 'partners'],
  ['GET', new RegExp(`^${APP}$`), 'links'],
  ['GET', new RegExp(`^${APP}/(?<link>[^/]+)/children$`), 'children'],
  ['POST', new RegExp(`^${APP_V1}$`), 'create_link'],
  ['PATCH', new RegExp(`^${APP_V1}/(?<link>[^/]+)$`), 'update_link'],
  ['POST', /^\/cost$/, 'cost'],
] as const;

export type Endpoint = (typeof table)[number][2] | 'unknown';

export function routeOf(method: string, path: string): Route {
  const [, pattern, endpoint = 'unknown'] =
    table.find(([ofMethod, ofPath]) => ofMethod === method && ofPath.test(path)) ?? [];
  const groups = pattern?.exec(path)?.groups;
  return {
    endpoint,
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

/** service-interface: Errors. */
export function refusalOf(
  { token, costCredential }: Credentials,
  endpoint: Endpoint,
  header?: string,
): SimulatedAnswer | null {
  if (endpoint === 'unknown') return null;
  if (endpoint === 'cost') {
    if (header === costCredential) return null;
    return header === undefined
      ? errorAnswer(401, 'error', 'Required authentication information missing')
      : errorAnswer(403, 'error', 'No permission to post this data');
  }
  const [scheme, form] = isCapped(endpoint)
    ? (['Bearer ', 'error_code'] as const)
    : (['Token token=', 'error_message'] as const);
  if (header === `${scheme}${token}`) return null;
  return errorAnswer(401, form, 'Credentials incorrect or absent');
}
