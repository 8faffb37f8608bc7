/**
 * What is documented of metrics: the table `config/metrics.csv`, and which of its forms the id of a metric has. A form is an id with slots:
 * `{event}` and `{metric}` stand for any text, `{number}` for digits, `{period}` and `{source}` for what rows of their own list.
 */

import { readFileSync } from 'node:fs';

/**
 * Days after a period ends in which values of a kind may change at least (documented: how numbers move); null: for ever. A cohort has to
 * reach its age besides, and what is computed waits for its parts.
 */
const kindDays = { plain: 7, cohort: 7, spend: 14, framework: 42, lifetime: null, computed: 0 } as const;

export type MetricKind = keyof typeof kindDays;

const isKind = (text: string): text is MetricKind => Object.hasOwn(kindDays, text);

export interface CohortAge {
  /** The metric without its age. */
  readonly name: string;
  readonly unit: 'd' | 'w' | 'm';
  /** Days from the install to the age: 7 for `d7` and for `w1`, 30 for `m1`. */
  readonly days: number;
  /** Days after a period ends until its last installer has the age. */
  readonly completeDays: number;
}

export interface DocumentedMetric {
  readonly form: string;
  readonly kind: MetricKind;
  /** How long after a period ends its values may change; null: for ever. */
  readonly horizonDays: number | null;
  /** The part of a computed metric that is final last; the metric itself where that is not one of its parts. */
  readonly latest: string;
  readonly addsUp: boolean;
  /** How its values are formatted, in the service's words. */
  readonly unit: string;
  /** Null for a metric without a cohort age. */
  readonly age: CohortAge | null;
}

interface Form extends Pick<DocumentedMetric, 'form' | 'kind' | 'unit' | 'addsUp'> {
  /** `; ` between parts, and in a ratio ` / `, where a factor may stand before them. */
  readonly computedFrom: string;
  /** The only list of the catalog whose ids have this form, though others' may look like it; empty for none. */
  readonly onlyIn: string;
  readonly pattern: RegExp;
  /** The text after the last slot. */
  readonly end: string;
}

const SLOT = /\{(\w+)\}/;
const SLOTS = /\{(\w+)\}/g;
const FACTOR = /^(\d+) \* /;

const rows = readFileSync(new URL('../../config/metrics.csv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .slice(1)
  .map((line) => line.split(','));
const listed = (slot: string): string[] => rows.find(([form]) => form === slot)?.[4]?.split('; ') ?? [];
/** The longest age of each unit, `d400`. */
const [longestDays = '', longestWeeks = '', longestMonths = ''] = listed('{period}');
const ageUnits = [
  { unit: 'd', daysEach: 1, longest: Number(longestDays.slice(1)) },
  { unit: 'w', daysEach: 7, longest: Number(longestWeeks.slice(1)) },
  { unit: 'm', daysEach: 30, longest: Number(longestMonths.slice(1)) },
] as const;
const slots: Readonly<Record<string, string>> = {
  event: '(?<event>.+)',
  metric: '(?<metric>.+)',
  number: String.raw`\d+`,
  period: String.raw`(?<period>[dwm]\d{1,3})`,
  source: `(?<source>${listed('{source}').join('|')})`,
};

/** Every documented form, in the order of the table. */
export const documentedForms: readonly Form[] = rows
  .filter(([, kind]) => kind !== 'slot')
  .map(([form = '', kind = '', unit = '', addsUp, computedFrom = '', onlyIn = '']) => {
    if (!isKind(kind)) throw new Error(`config/metrics.csv: ${form} has the unknown kind ${kind}`);
    // Every second text is the name of a slot.
    const texts = form.split(SLOT);
    const pattern = new RegExp(`^${texts.map((text, at) => (at % 2 === 1 ? slots[text] : text)).join('')}$`, 's');
    return { form, kind, unit, addsUp: addsUp === 'yes', computedFrom, onlyIn, pattern, end: texts.at(-1) ?? '' };
  });

/**
 * What is documented of a metric in a list of the catalog (null: in none); null for an id of no documented form. Of several forms, as an
 * event can have any name, the latest horizon counts, and it adds up only if all of them do.
 */
export function documentedMetric(id: string, list: string | null): DocumentedMetric | null {
  const found = documentedForms
    .filter(({ end, onlyIn }) => id.endsWith(end) && (onlyIn === '' || list === null || list === onlyIn))
    .map((form) => inForm(id, form))
    .filter((documented) => documented !== null);
  const [first, ...others] = found;
  if (first === undefined || others.length === 0) return first ?? null;
  return { ...latestOf(first, others), addsUp: found.every(({ addsUp }) => addsUp) };
}

/** What a form says of an id; null where the id has another form, an age beyond all, or a part of no documented form. */
function inForm(id: string, { form, kind, unit, addsUp, computedFrom, pattern }: Form): DocumentedMetric | null {
  const match = pattern.exec(id);
  if (match === null) return null;
  const period = match.groups?.['period'];
  const stated = period === undefined ? null : parseAge(period);
  if (period !== undefined && stated === null) return null;
  const age = stated === null ? null : { name: filled(form.replace('_{period}', ''), match), ...stated };
  const days = kindDays[kind];
  const horizonDays = days === null ? null : Math.max(days, age?.completeDays ?? 0);
  const own: DocumentedMetric = { form, kind, horizonDays, latest: id, addsUp, unit, age };
  const names = filled(computedFrom, match)
    .replace(FACTOR, '')
    .split(/; | \/ /);
  const parts = names.filter((name) => name !== '').map((name) => documentedMetric(name, null));
  const known = parts.filter((part) => part !== null);
  if (known.length < parts.length) return null;
  const { horizonDays: lastDays, latest } = latestOf(own, known);
  return { ...own, horizonDays: lastDays, latest };
}

/** A text with what stands in the slots of an id in place of its own. */
const filled = (text: string, match: RegExpExecArray): string =>
  text.replaceAll(SLOTS, (_, slot: string) => match.groups?.[slot] ?? '0');

/** How a metric can be taken over any rows: `factor × sum(numerator) / sum(denominator)`; null for one that is no known ratio. */
export function ratioOf(
  id: string,
): { readonly numerator: string; readonly denominator: string; readonly factor: number } | null {
  for (const { computedFrom, pattern } of documentedForms) {
    const match = computedFrom.includes(' / ') ? pattern.exec(id) : null;
    if (match === null) continue;
    const [numerator = '', denominator = ''] = filled(computedFrom, match).replace(FACTOR, '').split(' / ');
    return { numerator, denominator, factor: Number(FACTOR.exec(computedFrom)?.[1] ?? 1) };
  }
  return null;
}

/** The one whose horizon is the longest, the first of several. */
function latestOf(first: DocumentedMetric, others: readonly DocumentedMetric[]): DocumentedMetric {
  const daysOf = ({ horizonDays }: DocumentedMetric): number => horizonDays ?? Infinity;
  return others.reduce((latest, each) => (daysOf(each) > daysOf(latest) ? each : latest), first);
}

/** The age that a text such as `d7` states; null for another text, and for an age beyond what the service has. */
export function parseAge(text: string): Omit<CohortAge, 'name'> | null {
  const known = ageUnits.find(({ unit }) => text.startsWith(unit));
  const count = /^.(?:0|[1-9]\d{0,2})$/.test(text) ? Number(text.slice(1)) : NaN;
  if (known === undefined || !(count <= known.longest)) return null;
  // Ages are 24-hour ages: the last installer of a period completes age N up to a day later than the period's count.
  const completeDays = known.daysEach * (count + 1) + (known.unit === 'd' ? 0 : 1);
  return { unit: known.unit, days: known.daysEach * count, completeDays };
}

/** The longest ages of the service, for people. */
export const longestAgesText = `days to ${longestDays}, weeks to ${longestWeeks}, months to ${longestMonths}`;
