/** Reads the configuration: text → plain values, variables filled → slices with their defaults → schema → frozen `Config`. */

import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { parseEnv } from 'node:util';

import { Failure, systemText } from '../errors.ts';
import { alike } from '../model/alike.ts';
import { isRecord } from '../model/canonical-json.ts';
import {
  configInvalid,
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
import { SettingsText, type Surroundings } from './settings-text.ts';
import { settings } from './settings.ts';

export interface ConfigOptions extends Surroundings {
  /** Absolute, or relative to `directory` (default: `ripen.yaml`). */
  readonly file?: string | undefined;
  readonly directory: string;
}

interface ConfigSource extends ConfigOptions {
  readonly file: string;
}

export interface StatedSettings {
  valueAt(path: SettingPath): unknown;
  /** Returns `file:line:column` of a setting, or of the nearest one around it if it is not stated. */
  placeOf(path: SettingPath, at: Mistake['at']): string | null;
}

export const noPositions: StatedSettings = { valueAt: () => undefined, placeOf: () => null };

interface Inspection {
  readonly shown: string;
  /** Sorted by position, without repetitions. */
  readonly problems: readonly Problem[];
  readonly config: Config | null;
  readonly stated: StatedSettings;
  readonly effective: unknown;
}

/** Throws `CONFIG_MISSING` or `CONFIG_INVALID`, which lists every problem. */
export const readConfig = async (options: ConfigOptions): Promise<Config> =>
  configOrThrow(await inspectConfig(options));

export const parseConfig = (text: string, source: ConfigSource): Config =>
  configOrThrow(inspectText(text, source));

function configOrThrow({ shown, problems, config }: Inspection): Config {
  if (config === null) throw configInvalid(shown, problems);
  return config;
}

/** Returns YAML with every default and no secret. `notes` are comments on the metrics of slices, by name. */
export function resolvedText(inspection: Inspection, notes?: ReadonlyMap<string, string>): string {
  configOrThrow(inspection);
  return resolvedYaml(isRecord(inspection.effective) ? inspection.effective : {}, notes);
}

/** As `readConfig`, but returns the problems. The environment takes precedence over `.env`. */
export async function inspectConfig(options: ConfigOptions): Promise<Inspection> {
  const file = resolve(options.directory, options.file ?? 'ripen.yaml');
  const dotEnv = await readFile(join(dirname(file), '.env'), 'utf8').catch(() => '');
  const environment = { ...parseEnv(dotEnv.replace(/^\uFEFF/, '')), ...options.environment };
  const bytes = await readFile(file).catch((cause: unknown) => {
    const code = systemText(cause, 'code') || 'unreadable';
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
  const { directory, environment, offline = false } = source;
  const file = resolve(directory, source.file);
  const short = relative(directory, file);
  const shown = short.startsWith('..') || isAbsolute(short) ? file : short;
  const read = new SettingsText(text, source);
  if (read.fatal !== null) {
    const problem = { place: `${shown}:${read.fatal.place}`, key: '', text: read.fatal.text };
    return { shown, problems: [problem], config: null, stated: noPositions, effective: null };
  }
  const { root, effective, parsed } = validated(read);
  // Any other value may hold a secret.
  const isShown = (path: SettingPath) => {
    const origin = declaredPath(root, path);
    const isOfSlices = origin[0] === 'slices' || origin[0] === 'defaults';
    return isOfSlices && !read.filledPlaces.some((place) => isWithin(place, origin));
  };
  const mistakes = [
    ...schemaMistakes(parsed.error?.issues ?? [], effective, isShown),
    ...settingMistakes(root, effective, environment),
  ];
  const fileToken = offline ? null : readTokenFile(effective, dirname(file), mistakes);
  const declared = mistakes.map((mistake) =>
    Object.assign(mistake, { path: declaredPath(root, mistake.path) }),
  );
  const problems = problemsOf(read, declared, effective, shown);
  const origin = { file, fileToken, environment };
  return {
    shown,
    problems,
    config: parsed.success && problems.length === 0 ? buildConfig(parsed.data, origin) : null,
    stated: {
      valueAt: (path) => valueAt(root, path),
      placeOf: (path, at) => `${shown}:${read.placeOf(declaredPath(root, path), at)}`,
    },
    effective,
  };
}

/** Text from a variable becomes a number or boolean where the schema refuses text. */
function validated({ value, filledPlaces }: SettingsText) {
  const parsed = settings.safeParse(withDefaults(value));
  const paths = (parsed.error?.issues ?? [])
    .filter(({ code }) => code === 'invalid_type' || code === 'invalid_union')
    .map((issue) => declaredPath(value, pathOf(issue)));
  const root = filledPlaces
    .filter((place) => paths.some((path) => isWithin(place, path)))
    .reduce((before, place) => coerceText(before, place), value);
  const effective = withDefaults(root);
  return { root, effective, parsed: root === value ? parsed : settings.safeParse(effective) };
}

function coerceText(value: unknown, [step, ...rest]: SettingPath): unknown {
  if (step === undefined) {
    if (value === 'true' || value === 'false') return value === 'true';
    return String(Number(value)) === value ? Number(value) : value;
  }
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === step ? coerceText(item, rest) : item));
  return isRecord(value) ? { ...value, [step]: coerceText(value[step], rest) } : value;
}

function withDefaults(root: unknown): unknown {
  if (!isRecord(root) || !Array.isArray(root['slices'])) return root;
  const { name: _, ...defaults } = isRecord(root['defaults']) ? root['defaults'] : {};
  const { metrics: _metrics, cohorts: _cohorts, ...others } = defaults;
  const slices = itemsOf(root['slices']).map((slice) => {
    if (!isRecord(slice)) return slice;
    // A slice that states one of both takes neither from the defaults.
    const isMeasured = Object.hasOwn(slice, 'metrics') || Object.hasOwn(slice, 'cohorts');
    return Object.assign({}, isMeasured ? others : defaults, slice);
  });
  return { ...root, slices };
}

/** Returns the path among the defaults if only they state the setting. */
function declaredPath(root: unknown, path: SettingPath): SettingPath {
  const [first, index, key, ...rest] = path;
  if (first !== 'slices' || index === undefined || key === undefined || key === 'name') return path;
  const isInherited =
    valueAt(root, [first, index, key]) === undefined &&
    valueAt(root, ['defaults', key]) !== undefined;
  return isInherited ? ['defaults', key, ...rest] : path;
}

/** Returns at most one problem for each path and value. Leaves out what follows from an unreadable value or a misspelt key. */
function problemsOf(
  read: SettingsText,
  mistakes: readonly Mistake[],
  effective: unknown,
  file: string,
): Problem[] {
  const misspelt = new Set(mistakes.map(({ meant }) => meant && placeName(meant)));
  const paths = new Set<string>();
  const first = mistakes.filter(({ path, at }) => {
    const isMisspelt = misspelt.has(placeName(path)) && valueAt(effective, path) === undefined;
    const name = placeName([...path, at]);
    const isKnown = paths.has(name) || read.mistakes.some((other) => isWithin(path, other.path));
    paths.add(name);
    return !isMisspelt && !isKnown;
  });
  const problems = [...read.mistakes, ...first].map(({ path, at, text }) => {
    return { place: `${file}:${read.placeOf(path, at)}`, key: settingName(path), text };
  });
  return alike(problems, ({ place, text }) => `${place} ${text}`)
    .map(([problem]) => problem)
    .toSorted((one, other) => one.place.localeCompare(other.place, 'en', { numeric: true }));
}
