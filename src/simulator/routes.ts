/** The endpoint of a method and path, and its credential (service-interface: Endpoints). */

import { type SimulatedAnswer, errorAnswer } from './answer.ts';

export interface Route {
  readonly endpoint: Endpoint;
  /** Empty if the path has none, as is `linkToken`. */
  readonly appToken: string;
  readonly linkToken: string;
  readonly version: 'v1' | 'v2';
}

const APP = '/public/(?<version>v[12])/apps/(?<app>[^/]+)/trackers';
const APP_V1 = '/public/(?<version>v1)/apps/(?<app>[^/]+)/trackers';

const routes = [
  ['GET', /^\/reports-service\/report$/, 'report'],
  ['GET', /^\/reports-service\/filters_data$/, 'filters_data'],
  ['GET', /^\/public\/v1\/partners$/, 'partners'],
  ['GET', new RegExp(`^${APP}$`), 'links'],
  ['GET', new RegExp(`^${APP}/(?<link>[^/]+)/children$`), 'children'],
  ['POST', new RegExp(`^${APP_V1}$`), 'create_link'],
  ['PATCH', new RegExp(`^${APP_V1}/(?<link>[^/]+)$`), 'update_link'],
  ['POST', /^\/cost$/, 'cost'],
] as const;

export type Endpoint = (typeof routes)[number][2] | 'unknown';

export function routeOf(method: string, path: string): Route {
  const [, pattern, endpoint = 'unknown'] =
    routes.find(([verb, form]) => verb === method && form.test(path)) ?? [];
  const { app: appToken = '', link: linkToken = '', version } = pattern?.exec(path)?.groups ?? {};
  return { endpoint, appToken, linkToken, version: version === 'v2' ? 'v2' : 'v1' };
}

/** service-interface: Limits. */
export const isCapped = (endpoint: Endpoint): boolean =>
  endpoint === 'report' || endpoint === 'filters_data';

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
  let expected = isCapped(endpoint) ? `Bearer ${token}` : `Token token=${token}`;
  if (endpoint === 'cost') expected = costCredential;
  if (endpoint === 'unknown' || header === expected) return null;
  if (endpoint !== 'cost') {
    const form = isCapped(endpoint) ? 'error_code' : 'error_message';
    return errorAnswer(401, form, 'Credentials incorrect or absent');
  }
  return header === undefined
    ? errorAnswer(401, 'error', 'Required authentication information missing')
    : errorAnswer(403, 'error', 'No permission to post this data');
}
