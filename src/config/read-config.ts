/**
 * Outside words (a YAML file, the environment) → one frozen `Config`.
 *
 * Hidden behind it: YAML, variables, the settings' schema, defaults, and how every problem gets its line and column.
 * A `Config` is complete and consistent; whoever holds one checks nothing again.
 */

import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve } from 'node:path';

import { Failure } from '../errors.ts';
import { buildService, buildSlice } from './build-config.ts';
import { byPosition, configInvalid, type Finding, type SettingPath } from './config-problems.ts';
import type { Config, Links, PublishTarget } from './config.ts';
import type { Environment } from './environment-variables.ts';
import { isMapping, valueAt } from './plain-values.ts';
import { proxyOf, withSoundProxy } from './proxy.ts';
import { bucketAndPrefix } from './publish-settings.ts';
import { pathOf, schemaFindings } from './schema-findings.ts';
import { readTokenFile, settingFindings, sliceFindings } from './setting-checks.ts';
import { Secret } from './secret.ts';
import { placeName, type Surroundings } from './settings-reader.ts';
import { isWithin, readSettingsText, type SettingsText } from './settings-text.ts';
import { settings, type Settings } from './settings.ts';
import { soundSettings } from './sound-settings.ts';
import { statedSettings, type StatedSettings } from './stated-settings.ts';

export { configJsonSchema } from './json-schema.ts';

const DEFAULT_FILE = 'ripen.yaml';

export interface ConfigSource extends Surroundings {
  /** The configuration file; relative ones start at `directory`. */
  readonly file: string;
  /** The working directory. */
  readonly directory: string;
}

export interface ConfigOptions extends Surroundings {
  readonly file?: string;
  readonly directory: string;
}

/**
 * Finds and reads the configuration: `file` when given, else `ripen.yaml` in the directory. Throws `CONFIG_MISSING`
 * when there is none to read, `CONFIG_INVALID` with every problem there is.
 */
export async function readConfig(options: ConfigOptions): Promise<Config> {
  const file = resolve(options.directory, options.file ?? DEFAULT_FILE);
  return parseConfig(await readText(file, options.file !== undefined), { ...options, file });
}

async function readText(file: string, isChosen: boolean): Promise<string> {
  try {
    return textOf(await readFile(file), file);
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable';
    throw new Failure('CONFIG_MISSING', `No configuration could be read; tried ${file} (${code})`, {
      facts: { file, reason: code },
      hint: isChosen ? 'Correct the path given to --config.' : 'Run `ripen init`, or name a file with --config.',
      cause: thrown,
    });
  }
}

/** The text of bytes in UTF-8; throws `CONFIG_INVALID` with the place of the first that is none. */
function textOf(bytes: Buffer, file: string): string {
  const text = bytes.toString('utf8');
  if (isUtf8(bytes)) return text;
  const before = text.slice(0, wrongAt(bytes, text)).split('\n');
  const problem = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, key: '', text: NOT_UTF8 };
  throw configInvalid(file, [problem]);
}

const NOT_UTF8 = 'is not UTF-8, nor is what follows read; save the file in that encoding';

/** Where the text of bytes leaves them: U+FFFD that they do not hold themselves. */
function wrongAt(bytes: Buffer, text: string): number {
  let at = 0;
  for (const letter of text) {
    if (letter === '\uFFFD' && bytes.compare(REPLACEMENT, 0, 3, at, Math.min(at + 3, bytes.length)) !== 0) break;
    at += Buffer.byteLength(letter);
  }
  return bytes.subarray(0, at).toString('utf8').length;
}

const REPLACEMENT = Buffer.from('\uFFFD');

/** The configuration a text states. Throws `CONFIG_INVALID` with every problem, sorted by position. */
export function parseConfig(text: string, source: ConfigSource): Config {
  const { parsed, problems, place } = examine(text, source);
  if (!parsed.success || problems.length > 0) throw configInvalid(place.shown, problems);
  return deepFrozen(buildConfig(parsed.data, place));
}

/** A configuration that may hold mistakes: what is wrong with it, and the rest of it. */
export interface Inspection {
  /** Sorted by position, each once; the key is the setting's dotted name, or empty for the file as a whole. */
  readonly problems: readonly { readonly place: string; readonly key: string; readonly text: string }[];
  /** What `parseConfig` would return; beside problems without what they are about, and then not to be run. */
  readonly config: Config;
  readonly stated: StatedSettings;
}

/** Reads the configuration as `readConfig` does, for telling all that is wrong with it. Throws when little of it can be read. */
export async function inspectConfig(options: ConfigOptions): Promise<Inspection> {
  const file = resolve(options.directory, options.file ?? DEFAULT_FILE);
  return inspectText(await readText(file, options.file !== undefined), { ...options, file });
}

/** As `inspectConfig`, of a text. */
export function inspectText(text: string, source: ConfigSource): Inspection {
  const { read, parsed, problems, place, findings } = examine(text, source);
  const refused = [...findings.map(({ path }) => path), ...read.unknownPlaces];
  const sound = parsed.success && problems.length === 0 ? parsed.data : restOf(read, refused);
  if (sound === null) throw configInvalid(place.shown, problems);
  return {
    problems: byPosition(problems).map(({ line, column, key, text: said }) => ({
      place: `${place.shown}:${line}:${column}`,
      key,
      text: said,
    })),
    config: deepFrozen(buildConfig(sound, place)),
    stated: statedSettings(read, place.shown, refused),
  };
}

/** What a file with mistakes says besides; in slices the schema alone decides what is left out, so that they keep their names. */
function restOf(read: SettingsText, refused: readonly SettingPath[]): Settings | null {
  if (!read.readable || !isMapping(read.value)) return null;
  return soundSettings(
    read.value,
    refused.filter(([first]) => first !== 'slices'),
  );
}

/** Everything there is to know of a text: what it says, and what is wrong with it in itself or between its settings. */
function examine(text: string, source: ConfigSource) {
  const file = resolve(source.directory, source.file);
  const base = dirname(file);
  const { read, parsed } = validate(text, source);
  const tokenFile = source.offline === true ? noTokenFile : readTokenFile(read.value, base);
  const findings = read.readable
    ? [
        ...(parsed.success
          ? []
          : schemaFindings(parsed.error.issues, settings, read.value, (path) => isShown(read, path))),
        ...sliceFindings(read.value),
        ...settingFindings(read.value, base, source.environment),
        ...tokenFile.findings,
      ]
    : [];
  const problems = [...read.problems, ...told(findings, read).map((finding) => read.locate(finding))];
  const { directory } = source;
  const environment = withSoundProxy(source.environment, source.offline === true);
  const place = { file, base, environment, shown: shownName(file, directory), fileToken: tokenFile.token };
  return { read, parsed, findings, problems, place };
}

/** Nobody reads it where nothing is asked. */
const noTokenFile = { token: null, findings: [] } as const;

/** What the text says and what the schema makes of it; variables become numbers where only a number will do. */
function validate(text: string, from: Surroundings) {
  const read = readSettingsText(text, from);
  const parsed = settings.safeParse(read.value);
  if (parsed.success) return { read, parsed };
  const refused = parsed.error.issues
    .filter(({ code }) => code === 'invalid_type' || code === 'invalid_union')
    .map(pathOf);
  const typed = read.filledPlaces.filter((place) => refused.some((path) => isWithin(place, path)));
  if (typed.length === 0) return { read, parsed };
  const readAgain = readSettingsText(text, from, typed);
  return { read: readAgain, parsed: settings.safeParse(readAgain.value) };
}

/** Settings whose values are secrets or near them: a credential, or an address that is one. */
const secretSettings: ReadonlySet<unknown> = new Set(['service', 'notify']);

/** An address with a user and a password in it, or with a query, which may be a signature. */
const MAYBE_SECRET = /:.*[@?]/s;

/** A value may be shown when it is neither among those settings, nor from the environment, nor an address that may hold a secret. */
function isShown(read: SettingsText, path: SettingPath): boolean {
  const value = valueAt(read.value, path);
  if (secretSettings.has(path[0]) || (typeof value === 'string' && MAYBE_SECRET.test(value))) return false;
  return !read.filledPlaces.some((place) => isWithin(place, path));
}

/** The findings without those that follow from another problem, and one for each place. */
function told(findings: readonly Finding[], read: SettingsText): Finding[] {
  const misspelt = new Set(findings.flatMap(({ meant }) => (meant === undefined ? [] : [placeName(meant)])));
  const places = new Set<string>();
  return findings.filter(({ path, at }) => {
    const place = placeName([...path, at]);
    const follows = misspelt.has(placeName(path)) && valueAt(read.value, path) === undefined;
    const isKnown = places.has(place) || read.unknownPlaces.some((unknown) => isWithin(path, unknown));
    places.add(place);
    return !follows && !isKnown;
  });
}

function shownName(file: string, directory: string): string {
  const short = relative(directory, file);
  return short.startsWith('..') || isAbsolute(short) ? file : short;
}

function buildConfig(
  stated: Settings,
  place: {
    readonly file: string;
    readonly base: string;
    readonly fileToken: string | null;
    readonly environment: Environment;
  },
): Config {
  const service = buildService(stated.service, place.fileToken, place.base, place.environment);
  return {
    file: place.file,
    service,
    warehouse: resolve(place.base, stated.warehouse),
    publish: stated.publish.flatMap((target) => buildTarget(target, place.base)),
    archiveMs: stated.archive === 'off' ? null : stated.archive,
    audit: stated.audit,
    notify: stated.notify.map(({ url, on }) => ({
      url: new Secret(url),
      on,
      proxy: proxyOf(place.environment, [url]),
    })),
    partners: stated.partners,
    links: stated.links === false ? null : buildLinks(stated.links),
    slices: stated.slices.map((slice) => buildSlice(slice, stated.defaults ?? {}, service)),
  };
}

function buildLinks({ apps, every, max_level: maxLevel }: Exclude<Settings['links'], false>): Links {
  return { apps, maxLevel, ...(every === undefined ? {} : { everyMs: every }) };
}

function buildTarget(target: Settings['publish'][number], base: string): PublishTarget[] {
  const { duckdb, delta, parquet, mode, keep: keepMs } = target;
  if (duckdb !== undefined) return [{ kind: 'duckdb', path: resolve(base, duckdb), mode }];
  const stated = delta ?? parquet;
  if (stated === undefined) return [];
  const kept = delta === undefined ? ({ kind: 'parquet' } as const) : ({ kind: 'delta', keepMs } as const);
  const place = bucketAndPrefix(stated);
  if (place === null) return [{ ...kept, path: resolve(base, stated), mode }];
  const { endpoint = null, region = null, path_style: pathStyle = endpoint !== null } = target;
  const path = `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`;
  return [{ ...kept, path, mode, store: { ...place, endpoint, region, pathStyle } }];
}

/** The value itself, with every object and list in it frozen; instances of classes are left as they are. */
function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return value;
  for (const inner of Object.values(value)) deepFrozen(inner);
  return Object.freeze(value);
}
