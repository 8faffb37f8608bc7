/** Reads the configuration: text → plain values, variables filled → slices with their defaults → schema → frozen `Config`. */

import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { parseEnv } from 'node:util';

import { Failure } from '../errors.ts';
import {
  configInvalid,
  isMapping,
  isWithin,
  itemsOf,
  type Mistake,
  pathOf,
  placeName,
  type Problem,
  schemaMistakes,
  settingName,
  type SettingPath,
  valueAt,
} from './config-problems.ts';
import { buildConfig, type Config } from './config.ts';
import { resolvedYaml } from './schema-views.ts';
import { readTokenFile, settingMistakes } from './setting-checks.ts';
import { type Position, SettingsText, type Surroundings } from './settings-text.ts';
import { settings } from './settings.ts';

export interface ConfigOptions extends Surroundings {
  /** Absolute, or relative to `directory` (default: `ripen.yaml`). */
  readonly file?: string;
  readonly directory: string;
}

export interface ConfigSource extends ConfigOptions {
  readonly file: string;
}

export interface StatedSettings {
  valueAt(path: SettingPath): unknown;
  /** Returns `file:line:column` of a setting, or of the nearest one around it if it is not stated. */
  placeOf(path: SettingPath, at: Mistake['at']): string | null;
}

/** Stands for settings that were not read from a file. */
export const noPositions: StatedSettings = { valueAt: () => undefined, placeOf: () => null };

export interface Inspection {
  readonly shown: string;
  /** Sorted by position, without repetitions. */
  readonly problems: readonly Problem[];
  readonly config: Config | null;
  readonly stated: StatedSettings;
  readonly effective: unknown;
}

/** Reads the configuration. Throws `CONFIG_MISSING` or `CONFIG_INVALID`, which lists every problem. */
export const readConfig = async (options: ConfigOptions): Promise<Config> =>
  configOrThrow(await inspectConfig(options));

export const parseConfig = (text: string, source: ConfigSource): Config =>
  configOrThrow(inspectText(text, source));

function configOrThrow({ shown, problems, config }: Inspection): Config {
  if (config === null) throw configInvalid(shown, problems);
  return config;
}

export function resolvedText(inspection: Inspection): string {
  configOrThrow(inspection);
  return resolvedYaml(isMapping(inspection.effective) ? inspection.effective : {});
}

/** As `readConfig`, but returns the problems. The environment takes precedence over `.env`. */
export async function inspectConfig(options: ConfigOptions): Promise<Inspection> {
  const file = resolve(options.directory, options.file ?? 'ripen.yaml');
  const dotEnv = await readFile(join(dirname(file), '.env'), 'utf8').catch(() => '');
  const environment = { ...parseEnv(dotEnv.replace(/^\uFEFF/, '')), ...options.environment };
  const bytes = await readFile(file).catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    throw new Failure('CONFIG_MISSING', `No configuration could be read; tried ${file} (${code})`, {
      facts: { file, reason: code },
      hint:
        options.file === undefined
          ? 'Run `ripen init`, or name a file with --config.'
          : 'Correct the path given to --config.',
      cause,
    });
  });
  if (!isUtf8(bytes)) {
    const text = 'is not UTF-8; save the file in that encoding';
    throw configInvalid(file, [{ place: file, key: '', text }]);
  }
  return inspectText(bytes.toString('utf8'), { ...options, file, environment });
}

export function inspectText(text: string, source: ConfigSource): Inspection {
  const file = resolve(source.directory, source.file);
  const base = dirname(file);
  const short = relative(source.directory, file);
  const shown = short.startsWith('..') || isAbsolute(short) ? file : short;
  const read = new SettingsText(text, source);
  if (read.fatal !== null) {
    const { place, text: wrong } = read.fatal;
    const problem = { place: `${shown}:${place.line}:${place.column}`, key: '', text: wrong };
    return { shown, problems: [problem], config: null, stated: noPositions, effective: null };
  }
  const { root, effective, parsed } = validated(read);
  const tokenFile =
    source.offline === true ? { token: null, mistakes: [] } : readTokenFile(effective, base);
  const found = [
    ...schemaMistakes(parsed.error?.issues ?? [], effective, (path) => isShown(read, root, path)),
    ...settingMistakes(root, effective, source.environment),
    ...tokenFile.mistakes,
  ].map((mistake): Mistake => Object.assign(mistake, { path: declaredPath(root, mistake.path) }));
  const placeText = ({ line, column }: Position): string => `${shown}:${line}:${column}`;
  const problems = [...read.mistakes, ...withoutFollowUps(found, read.mistakes, effective)]
    .map(({ path, at, text: wrong }) => ({
      at: read.placeOf(path, at),
      key: settingName(path),
      text: wrong,
    }))
    .toSorted((one, other) => one.at.line - other.at.line || one.at.column - other.at.column)
    .map(({ at, key, text: wrong }): Problem => ({ place: placeText(at), key, text: wrong }))
    // A value that several paths reach, through an alias or the defaults, is reported once.
    .filter(
      ({ place, text: wrong }, index, all) =>
        all.findIndex((each) => each.place === place && each.text === wrong) === index,
    );
  const origin = { file, base, fileToken: tokenFile.token, environment: source.environment };
  return {
    shown,
    problems,
    config: parsed.success && problems.length === 0 ? buildConfig(parsed.data, origin) : null,
    stated: {
      valueAt: (path) => valueAt(root, path),
      placeOf: (path, at) => placeText(read.placeOf(declaredPath(root, path), at)),
    },
    effective,
  };
}

/** Text from a variable becomes a number or boolean where the schema refuses text. */
function validated({ value, filledPlaces }: SettingsText) {
  const parsed = settings.safeParse(withDefaults(value));
  const refused = (parsed.error?.issues ?? [])
    .filter(({ code }) => code === 'invalid_type' || code === 'invalid_union')
    .map((issue) => declaredPath(value, pathOf(issue)));
  const root = filledPlaces
    .filter((place) => refused.some((path) => isWithin(place, path)))
    .reduce((before, place) => coerceText(before, place), value);
  const effective = withDefaults(root);
  return { root, effective, parsed: root === value ? parsed : settings.safeParse(effective) };
}

/** Replaces the text at a path, in a copy, by the number or boolean it spells. */
function coerceText(value: unknown, [step, ...rest]: SettingPath): unknown {
  if (step === undefined) {
    if (value === 'true' || value === 'false') return value === 'true';
    return value !== '' && String(Number(value)) === value ? Number(value) : value;
  }
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === step ? coerceText(item, rest) : item));
  return isMapping(value) ? { ...value, [step]: coerceText(value[step], rest) } : value;
}

/** Adds the defaults to each slice, except for the keys it states itself. */
function withDefaults(root: unknown): unknown {
  if (!isMapping(root) || !Array.isArray(root['slices'])) return root;
  const { name: _, ...defaults } = isMapping(root['defaults']) ? root['defaults'] : {};
  const slices = itemsOf(root['slices']).map((slice) => {
    if (!isMapping(slice)) return slice;
    const replaced = measuredBy.some((key) => Object.hasOwn(slice, key)) ? measuredBy : [];
    const taken = Object.entries(defaults).filter(([key]) => !replaced.includes(key));
    return Object.assign(Object.fromEntries(taken), slice);
  });
  return { ...root, slices };
}

/** A slice that states one of these takes neither from the defaults. */
const measuredBy: readonly string[] = ['metrics', 'cohorts'];

/** Returns the path among the defaults if only they state the setting. */
function declaredPath(root: unknown, path: SettingPath): SettingPath {
  const [first, index, key, ...rest] = path;
  if (first !== 'slices' || index === undefined || key === undefined || key === 'name') return path;
  const isInherited =
    valueAt(root, [first, index, key]) === undefined &&
    valueAt(root, ['defaults', key]) !== undefined;
  return isInherited ? ['defaults', key, ...rest] : path;
}

/** Only what a slice or the defaults state without a variable: any other value may hold a secret. */
function isShown(read: SettingsText, root: unknown, path: SettingPath): boolean {
  const origin = declaredPath(root, path);
  const isOfSlices = origin[0] === 'slices' || origin[0] === 'defaults';
  return isOfSlices && !read.filledPlaces.some((place) => isWithin(place, origin));
}

/** At most one for each place. */
function withoutFollowUps(
  found: readonly Mistake[],
  unreadable: readonly Mistake[],
  effective: unknown,
): Mistake[] {
  const misspelt = new Set(
    found.flatMap(({ meant }) => (meant === undefined ? [] : [placeName(meant)])),
  );
  const places = new Set<string>();
  return found.filter(({ path, at }) => {
    const place = placeName([...path, at]);
    const follows = misspelt.has(placeName(path)) && valueAt(effective, path) === undefined;
    const isKnown = places.has(place) || unreadable.some((unknown) => isWithin(path, unknown.path));
    places.add(place);
    return !follows && !isKnown;
  });
}
