/**
 * Reads YAML text into plain values, each with its place in the file; fills variables and expands braces.
 * A number must be written the way it prints: `0644`, `1.0` and a 20-digit id stay text, so that nothing is rounded.
 */

import { expand } from 'brace-expansion';
import * as yaml from 'yaml';

import { type Mistake, placeName, type SettingPath } from './config-problems.ts';
import { type Environment, fillVariables } from './variables.ts';

/** Far above any configuration, far below what nested aliases could expand to. */
const MAX_VALUES = 100_000;
/** Settings are at most six levels deep; deeper ones are an attack on the stack. */
const MAX_DEPTH = 50;

const PLAIN_TAG = /^(?:!|tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq))$/;

export interface Surroundings {
  readonly environment: Environment;
  readonly offline?: boolean;
}

/** Line and column start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

const TOO_DEEP = 'is nested too deeply to be read';
const TOO_MANY = `holds more than ${MAX_VALUES} values once its aliases and braces are expanded; write them out`;

/** Drops the library's message, which may quote part of a secret. */
function fatalError(
  { pos: [offset], code, message }: yaml.YAMLError,
  text: string,
): { readonly offset: number; readonly text: string } {
  // The library catches its own stack overflow and reports its place.
  if (message.includes('call stack')) return { offset, text: TOO_DEEP };
  if (code === 'TAG_RESOLVE_FAILED')
    return { offset, text: 'carries a YAML tag; plain values only' };
  const isBraces = text[offset] === '{' || text[offset - 1] === '}';
  const words = isBraces
    ? 'braces must stand in quotes here: "revenue_d{0,7}", "${NAME}"'
    : code.toLowerCase().replaceAll('_', ' ');
  return { offset, text: `not YAML: ${words}` };
}

/** Braces expand in these lists. Filters, for example, may contain literal braces. */
const nameLists: ReadonlySet<string> = new Set([
  'dimensions',
  'metrics',
  'sort',
  'index',
  'os_names',
  'attribution_types',
  'ad_revenue_sources',
]);

const credentials: ReadonlySet<string> = new Set([
  'token',
  'token_file',
  'headers',
  'cost_headers',
  'ca_file',
]);

const UNKNOWN_ANCHOR = 'is an alias of an anchor that is not defined before it';
const OWN_PART = 'is an alias of a value that contains it';

/** A value filled from the environment stays text, whatever it spells. */
export class SettingsText {
  readonly value: unknown;
  readonly fatal: { readonly place: Position; readonly text: string } | null;
  /** Of single values, which are then null and must not be reported again. */
  readonly mistakes: Mistake[] = [];
  /** Values from the environment, which must not be shown. */
  readonly filledPlaces: SettingPath[] = [];
  readonly #from: Surroundings;
  readonly #lines = new yaml.LineCounter();
  readonly #anchors = new Map<string, yaml.Node>();
  readonly #open = new Set<unknown>();
  readonly #keyOffsets = new Map<string, number>();
  readonly #valueOffsets = new Map<string, number>();
  #values = 0;

  constructor(text: string, from: Surroundings) {
    this.#from = from;
    let value: unknown = null;
    let fatal: ReturnType<typeof fatalError> | null = null;
    try {
      const { contents, errors } = yaml.parseDocument(text, {
        prettyErrors: false,
        version: '1.2',
        schema: 'core',
        merge: false,
        uniqueKeys: false,
        lineCounter: this.#lines,
      });
      const [error] = errors;
      this.#valueOffsets.set(placeName([]), contents?.range[0] ?? 0);
      if (error === undefined) value = this.#read(contents, []);
      else fatal = fatalError(error, text);
    } catch (thrown) {
      // The library overflowed the stack, or there were too many values.
      if (!(thrown instanceof RangeError)) throw thrown;
      fatal = { offset: 0, text: this.#values > MAX_VALUES ? TOO_MANY : TOO_DEEP };
    }
    this.value = fatal === null ? value : null;
    this.fatal = fatal === null ? null : { place: this.#placeAt(fatal.offset), text: fatal.text };
  }

  /** Falls back to the nearest setting around one that is not stated. */
  placeOf(path: SettingPath, at: Mistake['at']): Position {
    const name = placeName(path);
    const [key, value] = [this.#keyOffsets.get(name), this.#valueOffsets.get(name)];
    const offset = at === 'key' ? (key ?? value) : (value ?? key);
    return offset === undefined && path.length > 0
      ? this.placeOf(path.slice(0, -1), 'key')
      : this.#placeAt(offset ?? 0);
  }

  #placeAt(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  /** Nested lists and braces add their items to the `list` around them, and return it. */
  #read(node: unknown, path: SettingPath, list: unknown[] | null = null): unknown {
    this.#count();
    if (this.#open.size > MAX_DEPTH)
      return this.#refuse(path, `is nested more than ${MAX_DEPTH} levels deep`);
    if (!yaml.isNode(node)) return null;
    const offset = node.range?.[0] ?? 0;
    this.#valueOffsets.set(placeName(path), offset);
    if (yaml.isAlias(node)) {
      const target = this.#anchors.get(node.source);
      if (target === undefined) return this.#refuse(path, UNKNOWN_ANCHOR);
      return this.#open.has(target) ? this.#refuse(path, OWN_PART) : this.#read(target, path, list);
    }
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (node.tag !== undefined && !PLAIN_TAG.test(node.tag)) {
      return this.#refuse(path, 'carries a YAML tag; plain values only');
    }
    if (yaml.isScalar(node)) {
      const { value, source } = node;
      const isOfNames = nameLists.has(String(path.at(-2))) || path.at(-3) === 'cohorts';
      const areNames = list !== null && isOfNames && typeof value === 'string';
      return areNames
        ? this.#readNames(value, offset, path, list)
        : this.#readScalar(value, source, path);
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
    if (this.#values > MAX_VALUES) throw new RangeError(TOO_MANY);
  }

  #readMapping(
    items: readonly { key: unknown; value: unknown }[],
    path: SettingPath,
    mapping: Record<string, unknown> = {},
  ): Record<string, unknown> {
    const names = new Set<string>();
    for (const { key, value } of items) {
      const name = yaml.isScalar(key) ? (key.source ?? String(key.value)) : null;
      if (name === null || name === '__proto__') {
        this.#refuse(
          path,
          'contains a key that no mapping can have: a list, a mapping or __proto__; keys are plain text',
        );
        continue;
      }
      const place = [...path, name];
      if (path.length === 0 && name.startsWith('x-')) {
        // Read for its anchors. Mistakes in it count only where an alias refers to it.
        const before = this.mistakes.length;
        this.#read(value, place);
        this.mistakes.length = before;
        continue;
      }
      if (name === '<<' || (Object.hasOwn(mapping, name) && !names.has(name))) continue;
      if (yaml.isScalar(key) && key.range) this.#keyOffsets.set(placeName(place), key.range[0]);
      if (names.has(name)) {
        this.#refuse(place, 'is stated twice; a mapping holds each key once', 'key');
        continue;
      }
      names.add(name);
      mapping[name] = name.includes('${')
        ? this.#refuse(
            place,
            'is a key with a variable; variables are filled in values only',
            'key',
          )
        : this.#read(value, place);
    }
    for (const { key, value } of items) {
      if (yaml.isScalar(key) && key.value === '<<') this.#merge(value, path, mapping);
    }
    return mapping;
  }

  #merge(value: unknown, path: SettingPath, mapping: Record<string, unknown>): void {
    this.#count();
    const place = [...path, '<<'];
    const node = yaml.isAlias(value) ? this.#anchors.get(value.source) : value;
    if (yaml.isNode(value) && value.range) this.#keyOffsets.set(placeName(place), value.range[0]);
    if (node === undefined) this.#refuse(place, UNKNOWN_ANCHOR, 'key');
    else if (this.#open.has(node)) this.#refuse(place, OWN_PART, 'key');
    else if (yaml.isCollection(node)) {
      this.#open.add(node);
      if (yaml.isMap(node)) this.#readMapping(node.items, path, mapping);
      else for (const item of node.items) this.#merge(item, path, mapping);
      this.#open.delete(node);
    } else
      this.#refuse(
        place,
        'merges something that is no mapping; must be a mapping or a list of them',
        'key',
      );
  }

  #readList(items: readonly unknown[], path: SettingPath, list: unknown[]): unknown[] {
    for (const item of items) {
      const value = this.#read(item, [...path, list.length], list);
      if (value !== list) list.push(value);
    }
    return list;
  }

  /** Each name has its own path; all have the position of the text. */
  #readNames(text: string, offset: number, path: SettingPath, list: unknown[]): unknown {
    let depth = 0;
    for (const letter of text)
      depth = letter === '{' ? depth + 1 : letter === '}' ? Math.max(0, depth - 1) : depth;
    if (depth > 0) {
      const allowed = 'must be as in a shell, revenue_d{0,7} or revenue_d{0..30}';
      return this.#refuse(path, `holds a brace that never closes; ${allowed}`);
    }
    // One more than a file may hold shows that there are too many.
    const options = { max: MAX_VALUES + 1, maxLength: Infinity };
    for (const name of text.includes('{') ? expand(text, options) : [text]) {
      this.#count();
      const place = [...path.slice(0, -1), list.length];
      this.#valueOffsets.set(placeName(place), offset);
      list.push(this.#readScalar(name, undefined, place));
    }
    return list;
  }

  #readScalar(value: unknown, source: string | undefined, path: SettingPath): unknown {
    if (typeof value === 'number') return String(value) === source ? value : source;
    if (typeof value !== 'string') return value;
    const filled = fillVariables(value, this.#from.environment, this.#isUnused(path));
    if (filled.isNamed) this.filledPlaces.push(path);
    return filled.problem === null ? filled.text : this.#refuse(path, filled.problem);
  }

  /** Whether a value is not used because the service is not called. */
  #isUnused([first, second = '']: SettingPath): boolean {
    const isCredential = first === 'service' && credentials.has(String(second));
    return this.#from.offline === true && (isCredential || first === 'notify');
  }

  #refuse(path: SettingPath, text: string, at: Mistake['at'] = 'value'): null {
    this.mistakes.push({ path, at, text });
    return null;
  }
}
