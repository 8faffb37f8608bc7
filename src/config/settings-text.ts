/**
 * YAML text → plain values, each with its place in the file.
 *
 * Hidden here and in the reader: the YAML library, variables, aliases and everything YAML can do that a configuration
 * should not.
 */

import { LineCounter, parseDocument, type Document } from 'yaml';

import { settingName, type Finding, type Problem, type SettingPath } from './config-problems.ts';
import { placeName, SettingsReader, type Surroundings } from './settings-reader.ts';

export interface SettingsText {
  /** The root of the settings; null when the file cannot be read as YAML. */
  readonly value: unknown;
  /** Whether `value` is what the file says, so that it can be checked further. */
  readonly readable: boolean;
  readonly problems: readonly Problem[];
  /** Places whose value could not be determined and is not to be complained about again. */
  readonly unknownPlaces: readonly SettingPath[];
  /** Places that were filled from the environment: their values are not to be shown. */
  readonly filledPlaces: readonly SettingPath[];
  /** A finding with its place in the file; a setting that is not there is placed where it would be. */
  locate(finding: Finding): Problem;
}

/**
 * Reads a file's text. A value filled from the environment is text, except at the places in `typed`, where it becomes
 * the number or truth value it spells.
 */
export function readSettingsText(text: string, from: Surroundings, typed: readonly SettingPath[] = []): SettingsText {
  const lines = new LineCounter();
  const document = parse(text, lines);
  const reader = new SettingsReader(document, from, new Set(typed.map(placeName)));
  const value = reader.read(document?.contents ?? null, []);
  const locate = (path: SettingPath, at: Finding['at']): { line: number; column: number } => {
    const { line, col } = lines.linePos(reader.offsetOf(path, at));
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const place = (finding: Finding): Problem => ({
    ...locate(finding.path, finding.at),
    key: settingName(finding.path),
    text: finding.text,
  });
  const syntax = syntaxProblems(document, text, lines);
  return {
    value,
    readable: document !== null && !syntax.fatal && !reader.exhausted,
    problems: syntax.fatal ? syntax.problems : [...syntax.problems, ...reader.findings.map(place)],
    unknownPlaces: reader.unknownPlaces,
    filledPlaces: reader.filledPlaces,
    locate: place,
  };
}

/** Whether one place lies at or below another. */
export function isWithin(path: SettingPath, outer: SettingPath): boolean {
  return outer.every((step, index) => path[index] === step);
}

/** Null when the text nests so deeply that the YAML library gives up. */
function parse(text: string, lineCounter: LineCounter): Document.Parsed | null {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false, version: '1.2', schema: 'core', merge: false });
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
}

/** Of errors that leave the file unreadable only the first is told: the rest follow from it. */
function syntaxProblems(
  document: Document.Parsed | null,
  text: string,
  lines: LineCounter,
): { readonly fatal: boolean; readonly problems: Problem[] } {
  const problemAt = (offset: number, what: string): Problem => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col, key: '', text: what };
  };
  if (document === null) return { fatal: true, problems: [startOfFile('is nested too deeply to be read')] };
  if (document.directives.yaml.version !== '1.2') {
    return { fatal: true, problems: [startOfFile('is another version of YAML; only 1.2 is read')] };
  }
  const fatal = document.errors.find(({ code }) => !Object.hasOwn(harmless, code));
  if (fatal === undefined) {
    const problems = document.errors.map(({ code, pos }) => problemAt(pos[0], harmless[code] ?? code));
    return { fatal: false, problems };
  }
  const [offset] = fatal.pos;
  // The library catches its own overflow, and says where it was.
  if (fatal.message.includes('call stack')) {
    return { fatal: true, problems: [problemAt(offset, 'is nested too deeply to be read')] };
  }
  const isVariable = text.slice(offset - 1, offset + 1) === '${';
  const what = isVariable ? 'a variable between { } or [ ] must stand in quotes: "${NAME}"' : safe(fatal.message);
  return { fatal: true, problems: [problemAt(offset, `not YAML: ${what}`)] };
}

const startOfFile = (text: string): Problem => ({ line: 1, column: 1, key: '', text });

/** Errors of the library that leave the rest of the file readable, in our words. */
const harmless: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key is stated twice; a mapping holds each key once',
  TAG_RESOLVE_FAILED: 'carries a YAML tag; plain values only',
};

/** The library's words without what they cite: that may be a part of a secret. */
function safe(message: string): string {
  return message.replace(/(?:: | \\).*$/s, '').replace(/; please use.*$/s, '');
}
