/** What is wrong between settings outside the slices: the service's credential, destinations, the environment. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import type { Finding, SettingPath } from './config-problems.ts';
import type { Environment } from './environment-variables.ts';
import { nearest } from './nearest.ts';
import { isMapping, itemsOf } from './plain-values.ts';
import { storeKeys } from './publish-settings.ts';

/** Everything the settings' root says, slices apart, that does not go together. */
export function settingFindings(root: unknown, base: string, environment: Environment): Finding[] {
  if (!isMapping(root)) return [];
  return [...verificationFindings(environment), ...tokenFindings(root['service']), ...publishFindings(root, base)];
}

/** With it, Node accepts any certificate: the token would go to whoever answers. */
function verificationFindings(environment: Environment): Finding[] {
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0') return [];
  const text =
    'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the checking of certificates; unset it, and name an own authority in service.ca_file';
  return [{ path: ['service'], at: 'key', text }];
}

function tokenFindings(service: unknown): Finding[] {
  if (!isMapping(service) || 'simulator' in service) return [];
  const states = (key: string): boolean => Object.hasOwn(service, key);
  if (states('token') && states('token_file')) {
    return [{ path: ['service', 'token_file'], at: 'key', text: 'is stated besides token; state one of the two' }];
  }
  // A misspelt one is told as an unknown key.
  if (Object.keys(service).some((key) => nearest(key, ['token', 'token_file']) !== null)) return [];
  return [{ path: ['service', 'token'], at: 'key', text: 'is missing; must be stated here or in token_file' }];
}

function publishFindings(root: Readonly<Record<string, unknown>>, base: string): Finding[] {
  const warehouse = root['warehouse'];
  const taken = new Map<string, string>();
  if (typeof warehouse === 'string') taken.set(placeOf(warehouse, base), 'the warehouse');
  return itemsOf(root['publish']).flatMap((target, index): Finding[] => {
    if (!isMapping(target)) return [];
    const kinds = ['duckdb', 'delta', 'parquet'].filter((kind) => Object.hasOwn(target, kind));
    const [kind] = kinds;
    if (kind === undefined || kinds.length > 1) {
      const wrong = kind === undefined ? 'names no destination' : 'names two destinations';
      return [{ path: ['publish', index], at: 'value', text: `${wrong}; must name one, duckdb, delta or parquet` }];
    }
    const destination = target[kind];
    if (typeof destination !== 'string') return [];
    const isStore = destination.startsWith('s3://');
    const misplaced = misplacedFindings(target, ['publish', index], isStore).concat(
      kind === 'delta' || !Object.hasOwn(target, 'keep')
        ? []
        : { path: ['publish', index, 'keep'], at: 'key', text: 'is for delta alone; leave it out' },
    );
    const place = placeOf(destination, base);
    const holder = taken.get(place);
    taken.set(place, 'another destination');
    if (holder === undefined) return misplaced;
    const text = `is the path of ${holder}; must be one of its own`;
    return misplaced.concat({ path: ['publish', index, kind], at: 'value', text });
  });
}

/** Settings of a target that mean nothing for its kind: those of an object store elsewhere, and its file rights. */
function misplacedFindings(target: Readonly<Record<string, unknown>>, path: SettingPath, isStore: boolean): Finding[] {
  const wrong = isStore ? 'is for files; an object store has no file rights' : 'is for s3://bucket/prefix alone';
  return (isStore ? ['mode'] : storeKeys)
    .filter((key) => Object.hasOwn(target, key))
    .map((key) => ({ path: [...path, key], at: 'key', text: `${wrong}; leave it out` }));
}

const placeOf = (path: string, base: string): string =>
  path.includes('://') ? path.replace(/\/+$/, '') : resolve(base, path);

/** The token of `service.token_file`, trimmed; null when there is none to read, and what is wrong with it if anything. */
export function readTokenFile(
  root: unknown,
  base: string,
): { readonly token: string | null; readonly findings: Finding[] } {
  const service = isMapping(root) ? root['service'] : null;
  const path = isMapping(service) ? service['token_file'] : null;
  if (typeof path !== 'string' || path === '') return { token: null, findings: [] };
  const wrong = (text: string) => ({
    token: null,
    findings: [{ path: ['service', 'token_file'], at: 'value', text } as const],
  });
  try {
    const token = readFileSync(resolve(base, path), 'utf8').trim();
    return /^[\x21-\x7e]+$/.test(token)
      ? { token, findings: [] }
      : wrong('names a file that is empty or holds more than a token; it must hold the token alone');
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable';
    return wrong(
      `names a file that could not be read (${code}); relative paths start at the configuration's directory`,
    );
  }
}
