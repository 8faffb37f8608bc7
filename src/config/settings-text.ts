/**
 * YAML text → plain values, variables filled, each with its place in the file.
 *
 * Hidden here: the YAML library, aliases and everything YAML can do that a configuration should not. Keys come as text,
 * values as text, numbers, true, false, null, lists and mappings. A number is one only when it is written the way it
 * prints: `0644`, `1.0` and a 20-digit id stay the text they are, so nothing is rounded or recast.
 */

import * as yaml from 'yaml';

import type { Mistake, SettingPath } from './config-problems.ts';
import { expandBraces, fillVariables, hasOpenBrace, type Environment, type Filling } from './expansion.ts';
import { placeName } from './plain-values.ts';

/** Far above any configuration, far below what nested aliases could blow up to. */
const MAX_VALUES = 100_000;
/** A setting is at most six levels deep; the rest is an attack on the stack. */
const MAX_DEPTH = 50;

const PLAIN_TAG = /^(?:!|tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq))$/;

/** What a configuration is read with. */
export interface Surroundings {
  readonly environment: Environment;
  /** For what asks the service nothing: it may lack its credentials. */
  readonly offline?: boolean;
}

/** Line and column count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Null when the text nests so deeply that the YAML library gives up. */
function parse(text: string, lineCounter: yaml.LineCounter): yaml.Document.Parsed | null {
  try {
    return yaml.parseDocument(text, { lineCounter, prettyErrors: false, version: '1.2', schema: 'core', merge: false });
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
}

const TOO_DEEP = 'is nested too deeply to be read';

/** The first error that leaves the file unreadable, from which the others follow; null when there is none. */
function fatalProblem(
  document: yaml.Document.Parsed | null,
  text: string,
): { readonly offset: number; readonly text: string } | null {
  if (document === null) return { offset: 0, text: TOO_DEEP };
  const fatal = document.errors.find(({ code }) => !Object.hasOwn(harmless, code));
  if (fatal === undefined) return null;
  const [offset] = fatal.pos;
  // The library catches its own overflow, and says where it was.
  if (fatal.message.includes('call stack')) return { offset, text: TOO_DEEP };
  const [before, here] = [text[offset - 1], text[offset]];
  const what =
    before === '$' && here === '{'
      ? 'a variable between { } or [ ] must stand in quotes: "${NAME}"'
      : here === '{' || before === '}'
        ? 'braces must stand in quotes here: "revenue_d{0,7}"'
        : safe(fatal.message);
  return { offset, text: `not YAML: ${what}` };
}

/** Errors of the library that leave the rest of the file readable, in our words. */
const harmless: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key is stated twice; a mapping holds each key once',
  TAG_RESOLVE_FAILED: 'carries a YAML tag; plain values only',
};

/** The library's words without what they cite: that may be a part of a secret. */
function safe(message: string): string {
  return message.replace(/(?:: | \\).*$/s, '').replace(/; please use.*$/s, '');
}

/** Lists of the service's names, in which braces expand; values such as those of filters may hold braces of their own. */
const nameLists: ReadonlySet<string> = new Set([
  'dimensions',
  'metrics',
  'sort',
  'index',
  'os_names',
  'attribution_types',
  'ad_revenue_sources',
]);

/** Settings of the service that only who asks it needs. */
const credentials: ReadonlySet<string> = new Set(['token', 'token_file', 'headers', 'cost_headers', 'ca_file']);

const UNKNOWN_ANCHOR = 'is an alias of an anchor that does not stand before it';
const OWN_PART = 'is an alias of what it is a part of';

/** A file's text as it is read. What is filled from the environment is text, whatever it spells. */
export class SettingsText {
  /** The root of the settings; null when the file cannot be read as YAML. */
  readonly value: unknown;
  /** Whether `value` is what the file says, so that it can be checked further. */
  readonly readable: boolean;
  /** What is wrong with the text itself, at its place. */
  readonly syntax: readonly { readonly place: Position; readonly text: string }[];
  /** What is wrong with single values, which are null then and not to be complained about again. */
  readonly mistakes: Mistake[] = [];
  /** Places that were filled from the environment: their values are not to be shown. */
  readonly filledPlaces: SettingPath[] = [];
  readonly #from: Surroundings;
  readonly #lines = new yaml.LineCounter();
  readonly #anchors = new Map<string, unknown>();
  readonly #open = new Set<unknown>();
  readonly #keyOffsets = new Map<string, number>();
  readonly #valueOffsets = new Map<string, number>();
  #values = 0;

  constructor(text: string, from: Surroundings) {
    this.#from = from;
    const document = parse(text, this.#lines);
    const fatal = fatalProblem(document, text);
    this.#valueOffsets.set(placeName([]), document?.contents?.range[0] ?? 0);
    this.value = this.#read(document?.contents ?? null, []);
    if (fatal !== null) this.mistakes.length = 0;
    this.readable = fatal === null && !this.#exhausted;
    const survived = (document?.errors ?? []).map(({ code, pos }) => ({
      offset: pos[0],
      text: harmless[code] ?? code,
    }));
    const wrong = fatal === null ? survived : [fatal];
    this.syntax = wrong.map(({ offset, text: what }) => ({ place: this.#placeAt(offset), text: what }));
  }

  /** Where a setting stands; for one that is not there, where it would be. */
  placeOf(path: SettingPath, at: Mistake['at']): Position {
    return this.#placeAt(this.#offsetOf(path, at));
  }

  #placeAt(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  get #exhausted(): boolean {
    return this.#values > MAX_VALUES;
  }

  /** Where a place begins in the text; for one that does not exist, where the nearest one around it begins. */
  #offsetOf(path: SettingPath, at: Mistake['at']): number {
    const name = placeName(path);
    const key = this.#keyOffsets.get(name);
    const value = this.#valueOffsets.get(name);
    const offset = at === 'key' ? (key ?? value) : (value ?? key);
    if (offset !== undefined) return offset;
    return path.length === 0 ? 0 : this.#offsetOf(path.slice(0, -1), 'key');
  }

  /** The value at a place; `list` is the one it is an item of, to which a list or braces add what they stand for, and return it. */
  #read(node: unknown, path: SettingPath, list: unknown[] | null = null): unknown {
    this.#count();
    if (this.#exhausted) return null;
    if (this.#open.size > MAX_DEPTH) return this.#refuse(path, `is nested more than ${MAX_DEPTH} levels deep`);
    if (yaml.isAlias(node)) return this.#readAlias(node, path, list);
    if (!yaml.isScalar(node) && !yaml.isMap(node) && !yaml.isSeq(node)) return null;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    const offset = node.range?.[0] ?? 0;
    this.#valueOffsets.set(placeName(path), offset);
    if (node.tag !== undefined && !PLAIN_TAG.test(node.tag)) {
      return this.#refuse(path, 'carries a YAML tag; plain values only');
    }
    if (yaml.isScalar(node)) {
      const isOfNames = nameLists.has(String(path.at(-2))) || path.at(-3) === 'cohorts';
      const areNames = list !== null && isOfNames && typeof node.value === 'string';
      return areNames
        ? this.#readNames(String(node.value), offset, path, list)
        : this.#readScalar(node.value, node.source, path);
    }
    this.#open.add(node);
    const value = yaml.isMap(node)
      ? this.#readMapping(node.items, path)
      : this.#readList(node.items, list === null ? path : path.slice(0, -1), list ?? []);
    this.#open.delete(node);
    return value;
  }

  #count(): void {
    this.#values += 1;
    if (this.#values !== MAX_VALUES + 1) return;
    this.#refuse([], `holds more than ${MAX_VALUES} values once its aliases and braces are expanded; write them out`);
  }

  #readMapping(
    items: readonly { key: unknown; value: unknown }[],
    path: SettingPath,
    mapping: Record<string, unknown> = {},
  ): Record<string, unknown> {
    const merged: unknown[] = [];
    for (const { key, value } of items) {
      if (this.#exhausted) break;
      const name = yaml.isScalar(key) ? (key.source ?? String(key.value)) : null;
      if (name === null || name === '__proto__') {
        this.#refuse(path, 'holds a key that no mapping can have, a list, a mapping or __proto__; keys are plain text');
        continue;
      }
      const place = [...path, name];
      const isAnchors = path.length === 0 && name.startsWith('x-');
      if (isAnchors) this.#learnAnchors(value);
      if (name === '<<') merged.push(value);
      if (isAnchors || name === '<<' || Object.hasOwn(mapping, name)) continue;
      if (yaml.isScalar(key) && key.range) this.#keyOffsets.set(placeName(place), key.range[0]);
      if (name.includes('${')) {
        this.#refuse(place, 'is a key with a variable; variables are filled in values only', 'key');
      } else {
        mapping[name] = this.#read(value, place);
      }
    }
    for (const value of merged) this.#merge(value, path, mapping);
    return mapping;
  }

  /** Adds the keys of a mapping, or of several in a list, that are not stated yet. */
  #merge(value: unknown, path: SettingPath, mapping: Record<string, unknown>): void {
    this.#count();
    if (this.#exhausted) return;
    const node = yaml.isAlias(value) ? this.#anchors.get(value.source) : value;
    if (yaml.isNode(value) && value.range) this.#keyOffsets.set(placeName([...path, '<<']), value.range[0]);
    if (yaml.isAlias(value) && node === undefined) this.#refuse([...path, '<<'], UNKNOWN_ANCHOR, 'key');
    else if (this.#open.has(node)) this.#refuse([...path, '<<'], OWN_PART, 'key');
    else if (yaml.isSeq(node) || yaml.isMap(node)) {
      this.#open.add(node);
      if (yaml.isMap(node)) this.#readMapping(node.items, path, mapping);
      else for (const item of node.items) this.#merge(item, path, mapping);
      this.#open.delete(node);
    } else this.#refuse([...path, '<<'], 'merges what is no mapping; must be a mapping or a list of them', 'key');
  }

  /** What stands under a key `x-…` is read where an alias leads to it. */
  #learnAnchors(value: unknown): void {
    if (!yaml.isNode(value)) return;
    yaml.visit(value, {
      Node: (_, node) => {
        if (!yaml.isAlias(node) && node.anchor !== undefined) this.#anchors.set(node.anchor, node);
      },
    });
  }

  #readList(items: readonly unknown[], path: SettingPath, list: unknown[]): unknown[] {
    for (const item of items) {
      if (this.#exhausted) break;
      const value = this.#read(item, [...path, list.length], list);
      if (value !== list) list.push(value);
    }
    return list;
  }

  /** Adds the names a text stands for, each at a place of its own that leads to the text. */
  #readNames(text: string, offset: number, path: SettingPath, list: unknown[]): unknown {
    if (hasOpenBrace(text)) {
      return this.#refuse(
        path,
        'holds a brace that never closes; must be as in a shell, revenue_d{0,7} or revenue_d{0..30}',
      );
    }
    for (const name of expandBraces(text)) {
      this.#count();
      if (this.#exhausted) break;
      const place = [...path.slice(0, -1), list.length];
      this.#valueOffsets.set(placeName(place), offset);
      list.push(this.#readScalar(name, undefined, place));
    }
    return list;
  }

  #readAlias({ source: anchor, range }: yaml.Alias, path: SettingPath, list: unknown[] | null): unknown {
    if (range) this.#valueOffsets.set(placeName(path), range[0]);
    const target = this.#anchors.get(anchor);
    if (target === undefined) return this.#refuse(path, UNKNOWN_ANCHOR);
    if (this.#open.has(target)) return this.#refuse(path, OWN_PART);
    return this.#read(target, path, list);
  }

  #readScalar(value: unknown, source: string | undefined, path: SettingPath): unknown {
    if (typeof value === 'number') return String(value) === source ? value : source;
    if (typeof value !== 'string') return value;
    const filled = fillVariables(value, this.#from.environment, this.#fillingOf(path));
    if (filled.named) this.filledPlaces.push(path);
    return filled.problem === null ? filled.text : this.#refuse(path, filled.problem);
  }

  /** What holds a credential, or says where one is. */
  #fillingOf([first, second = '']: SettingPath): Filling {
    const isCredential = first === 'service' && credentials.has(String(second));
    return isCredential || first === 'notify' ? (this.#from.offline === true ? 'unused' : 'secret') : 'value';
  }

  #refuse(path: SettingPath, text: string, at: Mistake['at'] = 'value'): null {
    this.mistakes.push({ path, at, text });
    return null;
  }
}
