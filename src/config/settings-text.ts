/**
 * Reads YAML text into plain values, each with its place in the file. Fills variables and expands braces. A number must be
 * written the way it prints: `0644`, `1.0` and a 20-digit id stay text, so that nothing is rounded. An alias is read anew
 * wherever it stands, as what a value means depends on the path to it (decision 18).
 */

import { expand } from 'brace-expansion';
import * as yaml from 'yaml';

import { type Mistake, placeName, type SettingPath } from './config-problems.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  readonly environment: Environment;
  /** Whether the service is not called, so that credentials may be missing. */
  readonly offline?: boolean;
}

/** Far above any configuration, far below what nested aliases could expand to. */
const MAX_VALUES = 100_000;
/** Settings are at most six levels deep. Deeper ones are an attack on the stack. */
const MAX_DEPTH = 50;

const TOO_DEEP = 'is nested too deeply to be read';
const TOO_MANY = `holds more than ${MAX_VALUES} values once its aliases and braces are expanded; use fewer`;
const UNKNOWN_ANCHOR = 'is an alias of an anchor that is not defined before it';
const IMPOSSIBLE_KEY =
  'contains a key that no mapping can have: a list, a mapping or __proto__; keys are plain text';
const OWN_PART = 'is an alias of a value that contains it';

const UNREADABLE =
  'holds a variable that cannot be read; allowed: ${NAME} and ${NAME:-default}, and $$ for a $';
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
/** Valid as a header and as an address, which leads nowhere. */
const UNUSED = 'https://unused.invalid';

const PLAIN_TAG = /^(?:!|tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq))$/;

/** Braces expand in these lists. Filters, for example, may contain literal braces. */
const nameLists: ReadonlySet<unknown> = new Set([
  'dimensions',
  'metrics',
  'sort',
  'index',
  'os_names',
  'attribution_types',
  'ad_revenue_sources',
]);

const credentials: ReadonlySet<unknown> = new Set([
  'token',
  'token_file',
  'headers',
  'cost_headers',
  'ca_file',
]);

/** A value filled from the environment stays text, whatever it spells. */
export class SettingsText {
  readonly value: unknown = null;
  readonly fatal: { readonly place: string; readonly text: string } | null = null;
  /** Of single values, which are then null and must not be reported again. */
  readonly mistakes: Mistake[] = [];
  /** Values from the environment, which must not be shown. */
  readonly filledPlaces: SettingPath[] = [];
  readonly #from: Surroundings;
  readonly #lines = new yaml.LineCounter();
  readonly #targets = new Map<yaml.Alias, yaml.Node | undefined>();
  readonly #open = new Set<yaml.Node>();
  readonly #offsets = { key: new Map<string, number>(), value: new Map<string, number>() };
  #values = 0;

  constructor(text: string, from: Surroundings) {
    this.#from = from;
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
      if (error !== undefined) {
        this.fatal = { place: this.#placeAt(error.pos[0]), text: wordsOf(error, text) };
        return;
      }
      const anchors = new Map<string, yaml.Node>();
      yaml.visit(contents, {
        Node: (_key, node) => {
          if (yaml.isAlias(node)) this.#targets.set(node, anchors.get(node.source));
          else if (node.anchor !== undefined) anchors.set(node.anchor, node);
        },
      });
      this.value = this.#read(contents, []);
    } catch (thrown) {
      // The library overflowed the stack, or there were too many values.
      if (!(thrown instanceof RangeError)) throw thrown;
      const isMany = this.#values > MAX_VALUES;
      this.fatal = { place: this.#placeAt(0), text: isMany ? TOO_MANY : TOO_DEEP };
    }
  }

  /** Of a setting, or of the nearest one around it if it is not stated. */
  placeOf(path: SettingPath, at: Mistake['at']): string {
    const name = placeName(path);
    const { key, value } = this.#offsets;
    const offset = this.#offsets[at].get(name) ?? key.get(name) ?? value.get(name);
    return offset === undefined && path.length > 0
      ? this.placeOf(path.slice(0, -1), 'key')
      : this.#placeAt(offset ?? 0);
  }

  #placeAt(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${Math.max(line, 1)}:${Math.max(col, 1)}`;
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw new RangeError(TOO_MANY);
  }

  #refuse(path: SettingPath, text: string, at: Mistake['at'] = 'value'): null {
    this.mistakes.push({ path, at, text });
    return null;
  }

  /** Nested lists and braces add their items to the `list` around them, and return it. */
  #read(node: unknown, path: SettingPath, list: unknown[] | null = null): unknown {
    this.#count();
    if (this.#open.size > MAX_DEPTH)
      return this.#refuse(path, `is nested more than ${MAX_DEPTH} levels deep`);
    if (!yaml.isNode(node)) return null;
    const offset = node.range?.[0] ?? 0;
    this.#offsets.value.set(placeName(path), offset);
    if (yaml.isAlias(node)) {
      const target = this.#targets.get(node);
      if (target === undefined) return this.#refuse(path, UNKNOWN_ANCHOR);
      return this.#open.has(target) ? this.#refuse(path, OWN_PART) : this.#read(target, path, list);
    }
    if (node.tag !== undefined && !PLAIN_TAG.test(node.tag))
      return this.#refuse(path, 'carries a YAML tag; plain values only');
    if (yaml.isScalar(node)) {
      const { value, source } = node;
      if (typeof value === 'number') return String(value) === source ? value : source;
      if (typeof value !== 'string') return value;
      const isName = nameLists.has(path.at(-2)) || path.at(-3) === 'cohorts';
      return list !== null && isName
        ? this.#readNames(value, offset, path, list)
        : this.#readText(value, path);
    }
    this.#open.add(node);
    const value = yaml.isMap(node) ? this.#readMapping(node, path) : (list ?? []);
    if (yaml.isSeq(node) && Array.isArray(value)) {
      const outer = list === null ? path : path.slice(0, -1);
      for (const item of node.items) {
        const read: unknown = this.#read(item, [...outer, value.length], value);
        if (read !== value) value.push(read);
      }
    }
    this.#open.delete(node);
    return value;
  }

  #readMapping(node: yaml.YAMLMap, path: SettingPath) {
    const mapping: Record<string, unknown> = {};
    const own = new Set(node.items);
    for (const pair of this.#pairsOf(node, path)) {
      const { key, value } = pair;
      const name = yaml.isScalar(key) ? (key.source ?? String(key.value)) : null;
      if (name === null || name === '__proto__') {
        this.#refuse(path, IMPOSSIBLE_KEY);
        continue;
      }
      const isStated = Object.hasOwn(mapping, name);
      // A top-level key `x-…` only holds anchors. A merge only adds keys.
      if ((path.length === 0 && name.startsWith('x-')) || (isStated && !own.has(pair))) continue;
      const place = [...path, name];
      if (yaml.isScalar(key) && key.range) this.#offsets.key.set(placeName(place), key.range[0]);
      const variable = 'is a key with a variable; variables are filled in values only';
      if (isStated) this.#refuse(place, 'is set twice; remove one', 'key');
      else if (name.includes('${')) mapping[name] = this.#refuse(place, variable, 'key');
      else mapping[name] = this.#read(value, place);
    }
    return mapping;
  }

  #pairsOf({ items }: yaml.YAMLMap, path: SettingPath): yaml.Pair[] {
    const isMerge = ({ key }: yaml.Pair) => yaml.isScalar(key) && key.value === '<<';
    const merged = items.filter(isMerge).flatMap(({ value }) => this.#mergedPairs(value, path));
    return items.filter((pair) => !isMerge(pair)).concat(merged);
  }

  #mergedPairs(value: unknown, path: SettingPath): yaml.Pair[] {
    this.#count();
    const place = [...path, '<<'];
    const refuse = (text: string) => this.#refuse(place, text, 'key') ?? [];
    const node = yaml.isAlias(value) ? this.#targets.get(value) : value;
    if (yaml.isNode(value) && value.range) this.#offsets.key.set(placeName(place), value.range[0]);
    if (node === undefined) return refuse(UNKNOWN_ANCHOR);
    if (!yaml.isCollection(node))
      return refuse('merges something that is not a mapping; must be a mapping or a list of them');
    if (this.#open.has(node)) return refuse(OWN_PART);
    this.#open.add(node);
    const pairs = yaml.isMap(node)
      ? this.#pairsOf(node, path)
      : node.items.flatMap((item) => this.#mergedPairs(item, path));
    this.#open.delete(node);
    return pairs;
  }

  /** Each name has its own path. All have the position of the text. */
  #readNames(text: string, offset: number, path: SettingPath, list: unknown[]): unknown {
    let depth = 0;
    for (const letter of text) {
      if (letter === '{') depth += 1;
      if (letter === '}') depth = Math.max(0, depth - 1);
    }
    if (depth > 0) {
      const allowed = 'must be as in a shell, revenue_d{0,7} or revenue_d{0..30}';
      return this.#refuse(path, `holds a brace that never closes; ${allowed}`);
    }
    // One more than a file may hold shows that there are too many.
    const limits = { max: MAX_VALUES + 1, maxLength: Infinity };
    for (const name of text.includes('{') ? expand(text, limits) : [text]) {
      this.#count();
      const place = [...path.slice(0, -1), list.length];
      this.#offsets.value.set(placeName(place), offset);
      list.push(this.#readText(name, place));
    }
    return list;
  }

  #readText(text: string, path: SettingPath) {
    const [first, second] = path;
    const isCredential = first === 'service' && credentials.has(second);
    const isUnused = this.#from.offline === true && (isCredential || first === 'notify');
    const { environment } = this.#from;
    const unset: string[] = [];
    let [isNamed, isReadable] = [false, true];
    // The values of variables are not searched for more.
    const filled = text.replace(
      /\$\$|\$\{([^}]*)(\}?)/g,
      (whole, inside: string | undefined, closing: string) => {
        if (inside === undefined) return '$';
        isNamed = true;
        const [, name, fallback] = VARIABLE.exec(inside) ?? [];
        // A variable within a default would be cut off at its brace.
        if (name === undefined || closing === '' || fallback?.includes('${') === true) {
          isReadable = false;
          return whole;
        }
        const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
        // As in a shell, the default of `:-` also replaces a variable that is set to nothing.
        if (fallback !== undefined) return value || fallback;
        if (isUnused && !value) return UNUSED;
        if (value === undefined) unset.push(name);
        return value ?? whole;
      },
    );
    if (isNamed) this.filledPlaces.push(path);
    if (!isReadable) return this.#refuse(path, UNREADABLE);
    if (unset.length === 0) return filled;
    return this.#refuse(path, `environment variable ${unset.join(', ')} is not set; set it`);
  }
}

/** Drops the library's message, which may quote part of a secret. */
function wordsOf({ pos: [offset], code, message }: yaml.YAMLError, text: string) {
  // The library catches its own stack overflow and reports its place.
  if (message.includes('call stack')) return TOO_DEEP;
  if (code === 'TAG_RESOLVE_FAILED') return 'carries a YAML tag; plain values only';
  const isBraces = text[offset] === '{' || text[offset - 1] === '}';
  return isBraces
    ? 'not YAML: braces must stand in quotes here: "revenue_d{0,7}", "${NAME}"'
    : `not YAML: ${code.toLowerCase().replaceAll('_', ' ')}`;
}
