/**
 * The table `config/metrics.csv`. A form is an id with slots: `{event}` and `{metric}` stand for any text, `{number}` for
 * digits, `{period}` and `{source}` for what their own rows list.
 */

import { readFileSync } from 'node:fs';

/** From the documentation: how long values change. A cohort must also reach its age, and a computed metric waits for its parts. */
const kindDays = {
  plain: 7,
  cohort: 7,
  spend: 14,
  framework: 42,
  lifetime: Infinity,
  computed: 0,
} as const;

export type MetricKind = keyof typeof kindDays;

const isKind = (text: string): text is MetricKind => Object.hasOwn(kindDays, text);

export interface CohortAge {
  readonly name: string;
  readonly unit: 'd' | 'w' | 'm';
  /** Days from the install to the age: 7 for `d7` and for `w1`, 30 for `m1`. */
  readonly days: number;
  /** Days after a period ends until its last installer reaches the age. */
  readonly completeDays: number;
}

interface DocumentedMetric {
  readonly form: string;
  readonly kind: MetricKind;
  /** After a period's end. May be infinite, as `comparableDays`. */
  readonly horizonDays: number;
  /** Until its total can be compared from night to night. */
  readonly comparableDays: number;
  /** The part that becomes final last, or the metric itself. */
  readonly latest: string;
  readonly addsUp: boolean;
  readonly unit: string;
  readonly age: CohortAge | null;
  /** Null also for one of both, such as a profit. */
  readonly flow: MoneyFlow | null;
}

export const isMoney = (unit: string): boolean => unit.startsWith('money');

export type MoneyFlow = 'spend' | 'revenue';

interface Form extends Pick<DocumentedMetric, 'form' | 'kind' | 'unit' | 'addsUp'> {
  /** Parts, separated by `; `, or in a ratio by ` / `, which a factor may precede. */
  readonly computedFrom: string;
  /** Empty if all catalog lists count. */
  readonly onlyIn: string;
  readonly pattern: RegExp;
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
const listed = (slot: string) => rows.find(([form]) => form === slot)?.[4]?.split('; ') ?? [];
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

export const documentedForms: readonly Form[] = rows
  .filter(([, kind]) => kind !== 'slot')
  .map(([form = '', kind = '', unit = '', addsUp, computedFrom = '', onlyIn = '']) => {
    if (!isKind(kind)) throw new Error(`config/metrics.csv: ${form} has the unknown kind ${kind}`);
    // Every second text is the name of a slot.
    const texts = form.split(SLOT);
    const filledForm = texts.map((text, at) => (at % 2 === 1 ? slots[text] : text)).join('');
    const pattern = new RegExp(`^${filledForm}$`, 's');
    const end = texts.at(-1) ?? '';
    return { form, kind, unit, addsUp: addsUp === 'yes', computedFrom, onlyIn, pattern, end };
  });

/** By list and id: slices share most metrics, and each search takes a tenth of a millisecond. */
const searched = new Map<string, DocumentedMetric | null>();

/** An id may have several forms: then the latest horizon counts, and it adds up only if all forms do. */
export function documentedMetric(id: string, list: string | null): DocumentedMetric | null {
  const key = `${list ?? ''} ${id}`;
  const cached = searched.get(key);
  const documented = cached === undefined ? combinedForms(id, list) : cached;
  searched.set(key, documented);
  return documented;
}

function combinedForms(id: string, list: string | null): DocumentedMetric | null {
  const matches = documentedForms
    .filter(
      ({ end, onlyIn }) => id.endsWith(end) && (onlyIn === '' || list === null || list === onlyIn),
    )
    .map((form) => inForm(id, form))
    .filter((documented) => documented !== null);
  const [first = null, ...others] = matches;
  if (first === null || others.length === 0) return first;
  return {
    ...latestOf(first, others),
    flow: others.every(({ flow }) => flow === first.flow) ? first.flow : null,
    addsUp: matches.every(({ addsUp }) => addsUp),
    comparableDays: Math.max(...matches.map(({ comparableDays }) => comparableDays)),
  };
}

/** Also null for a part of no documented form. */
function inForm(
  id: string,
  { form, kind, unit, addsUp, computedFrom, pattern }: Form,
): DocumentedMetric | null {
  const match = pattern.exec(id);
  if (match === null) return null;
  const period = match.groups?.['period'];
  const parsed = period === undefined ? null : parseAge(period);
  if (period !== undefined && parsed === null) return null;
  const age =
    parsed === null ? null : { name: filled(form.replace('_{period}', ''), match), ...parsed };
  const days = kindDays[kind];
  // Until an age is over, its total grows every day.
  const ageDays = age?.completeDays ?? 0;
  const names = filled(computedFrom, match)
    .replace(FACTOR, '')
    .split(/; | \/ /);
  const parts = names.filter((name) => name !== '').map((name) => documentedMetric(name, null));
  const documented = parts.filter((part) => part !== null);
  if (documented.length < parts.length) return null;
  const whole = { horizonDays: Math.max(days, ageDays), latest: id };
  const { horizonDays, latest } = latestOf(whole, documented);
  const comparable = documented.map(({ comparableDays }) => comparableDays);
  const [flow = null, ...others] = new Set(
    kind === 'computed' ? documented.map((part) => part.flow) : [kindFlows[kind]],
  );
  return {
    form,
    kind,
    horizonDays,
    comparableDays: Math.max(days === Infinity ? days : ageDays, ...comparable),
    latest,
    addsUp,
    unit,
    age,
    flow: isMoney(unit) && addsUp && others.length === 0 ? flow : null,
  };
}

/** Frameworks state both, in estimates. */
const kindFlows = {
  plain: 'revenue',
  cohort: 'revenue',
  lifetime: 'revenue',
  spend: 'spend',
  framework: null,
} as const;

const filled = (text: string, match: RegExpExecArray) =>
  text.replaceAll(SLOTS, (_, slot: string) => match.groups?.[slot] ?? '0');

/** As `factor × sum(numerator) / sum(denominator)`. */
export function ratioOf(id: string) {
  for (const { computedFrom, pattern } of documentedForms) {
    const match = computedFrom.includes(' / ') ? pattern.exec(id) : null;
    if (match === null) continue;
    const [numerator = '', denominator = ''] = filled(computedFrom, match)
      .replace(FACTOR, '')
      .split(' / ');
    return { numerator, denominator, factor: Number(FACTOR.exec(computedFrom)?.[1] ?? 1) };
  }
  return null;
}

function latestOf<T extends Pick<DocumentedMetric, 'horizonDays'>>(
  first: T,
  others: readonly T[],
): T {
  return others.reduce((one, other) => (other.horizonDays > one.horizonDays ? other : one), first);
}

/** Returns null beyond the service's longest age. */
export function parseAge(text: string) {
  const ageUnit = ageUnits.find(({ unit }) => text.startsWith(unit));
  const count = /^.(?:0|[1-9]\d{0,2})$/.test(text) ? Number(text.slice(1)) : NaN;
  if (ageUnit === undefined || !(count <= ageUnit.longest)) return null;
  // Ages count 24-hour spans: a period's last installer completes age N up to a day later than calendar days would count it.
  const completeDays = ageUnit.daysEach * (count + 1) + (ageUnit.unit === 'd' ? 0 : 1);
  return { unit: ageUnit.unit, days: ageUnit.daysEach * count, completeDays };
}

export const longestAgesText = `days to ${longestDays}, weeks to ${longestWeeks}, months to ${longestMonths}`;
