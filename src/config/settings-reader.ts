/**
 * A YAML document → plain values, variables filled, each place remembered.
 *
 * Keys come as text, values as text, numbers, true, false, null, lists and mappings. A number is one only when it is
 * written the way it prints: `0644`, `1.0` and a 20-digit id stay the text they are, so nothing is rounded or recast.
 */

import { isAlias, isMap, isScalar, isSeq, type Document } from 'yaml';

import type { Finding, SettingPath } from './config-problems.ts';
import { fillVariables, type Environment, type Filling } from './environment-variables.ts';

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

/** Settings of the service that only who asks it needs. */
const credentials: ReadonlySet<string> = new Set(['token', 'token_file', 'headers', 'cost_headers', 'ca_file']);

/** One walk over a document; what it finds on the way is left in its fields. */
export class SettingsReader {
  readonly findings: Finding[] = [];
  readonly unknownPlaces: SettingPath[] = [];
  readonly filledPlaces: SettingPath[] = [];
  readonly #environment: Environment;
  readonly #typed: ReadonlySet<string>;
  readonly #offline: boolean;
  readonly #anchors = new Map<string, unknown>();
  readonly #open = new Set<unknown>();
  readonly #keyOffsets = new Map<string, number>();
  readonly #valueOffsets = new Map<string, number>();
  #values = 0;

  constructor(document: Document.Parsed | null, from: Surroundings, typed: ReadonlySet<string>) {
    this.#environment = from.environment;
    this.#offline = from.offline ?? false;
    this.#typed = typed;
    this.#valueOffsets.set(placeName([]), document?.contents?.range[0] ?? 0);
  }

  get exhausted(): boolean {
    return this.#values > MAX_VALUES;
  }

  /** Where a place begins in the text; for one that does not exist, where the nearest one around it begins. */
  offsetOf(path: SettingPath, at: Finding['at']): number {
    const name = placeName(path);
    const key = this.#keyOffsets.get(name);
    const value = this.#valueOffsets.get(name);
    const offset = at === 'key' ? (key ?? value) : (value ?? key);
    if (offset !== undefined) return offset;
    return path.length === 0 ? 0 : this.offsetOf(path.slice(0, -1), 'key');
  }

  read(node: unknown, path: SettingPath): unknown {
    this.#values += 1;
    if (this.#values === MAX_VALUES + 1) {
      this.#refuse([], `holds more than ${MAX_VALUES} values once its aliases are expanded; write them out`);
    }
    if (this.exhausted) return null;
    if (path.length > MAX_DEPTH) return this.#refuse(path, `is nested more than ${MAX_DEPTH} levels deep`);
    if (isAlias(node)) return this.#readAlias(node.source, node.range?.[0], path);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (node.range) this.#valueOffsets.set(placeName(path), node.range[0]);
    if (node.tag !== undefined && !PLAIN_TAG.test(node.tag)) {
      return this.#refuse(path, 'carries a YAML tag; plain values only');
    }
    if (isScalar(node)) return this.#readScalar(node.value, node.source, path);
    this.#open.add(node);
    const value = isMap(node) ? this.#readMapping(node.items, path) : this.#readList(node.items, path);
    this.#open.delete(node);
    return value;
  }

  #readMapping(items: readonly { key: unknown; value: unknown }[], path: SettingPath): Record<string, unknown> {
    const mapping: Record<string, unknown> = {};
    for (const { key, value } of items) {
      if (this.exhausted) break;
      const name = isScalar(key) ? (key.source ?? String(key.value)) : null;
      if (name === null || name === '__proto__') {
        this.#refuse(path, 'holds a key that no mapping can have, a list, a mapping or __proto__; keys are plain text');
        continue;
      }
      const place = [...path, name];
      if (isScalar(key) && key.range) this.#keyOffsets.set(placeName(place), key.range[0]);
      if (name.includes('${')) {
        this.#refuse(place, 'is a key with a variable; variables are filled in values only', 'key');
      } else if (!Object.hasOwn(mapping, name)) {
        mapping[name] = this.read(value, place);
      }
    }
    return mapping;
  }

  #readList(items: readonly unknown[], path: SettingPath): unknown[] {
    const list: unknown[] = [];
    for (const item of items) {
      if (this.exhausted) break;
      list.push(this.read(item, [...path, list.length]));
    }
    return list;
  }

  #readAlias(anchor: string, offset: number | undefined, path: SettingPath): unknown {
    if (offset !== undefined) this.#valueOffsets.set(placeName(path), offset);
    const target = this.#anchors.get(anchor);
    if (target === undefined) return this.#refuse(path, 'is an alias of an anchor that does not stand before it');
    if (this.#open.has(target)) return this.#refuse(path, 'is an alias of what it is a part of');
    return this.read(target, path);
  }

  #readScalar(value: unknown, source: string | undefined, path: SettingPath): unknown {
    if (typeof value === 'number') return String(value) === source ? value : source;
    if (typeof value !== 'string') return value;
    const filled = fillVariables(value, this.#environment, this.#fillingOf(path));
    if (filled.named) this.filledPlaces.push(path);
    if (filled.problem !== null) return this.#refuse(path, filled.problem);
    return filled.named && this.#typed.has(placeName(path)) ? spelledValue(filled.text) : filled.text;
  }

  /** What holds a credential, or says where one is. */
  #fillingOf([first, second = '']: SettingPath): Filling {
    const isCredential = first === 'service' && credentials.has(String(second));
    return isCredential || first === 'notify' ? (this.#offline ? 'unused' : 'secret') : 'value';
  }

  #refuse(path: SettingPath, text: string, at: Finding['at'] = 'value'): null {
    this.findings.push({ path, at, text });
    this.unknownPlaces.push(path);
    return null;
  }
}

/** The number or truth value a text spells; else the text. */
function spelledValue(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && String(Number(text)) === text ? Number(text) : text;
}

/** A place as a key of a map. */
export const placeName = (path: SettingPath): string => JSON.stringify(path);
