/** The news of a status report as sentences. Pure. */

import { alikeSlices } from '../status/failure-groups.ts';
import type { NewsItem, StatusReport } from '../status/status-report.ts';
import {
  amountText,
  clockText,
  countText,
  daysText,
  minuteText,
  percentText,
} from '../../model/measure.ts';
import { oneLine } from './printable.ts';
import { agreementOf, agreementText } from './status-facts.ts';

/** More would not be read. Audits come on top, as each was asked for. */
const SHOWN = 5;

/** The length of an instant to the second. */
const SECONDS = 19;

function wordsOf(kind: NewsItem['kind']): readonly [noun: string, verb: string] {
  if (kind === 'became final') return ['value', 'became final'];
  if (kind === 'gap filled') return ['missing period', 'loaded'];
  const at = kind.lastIndexOf(' ');
  return [kind.slice(0, at), kind.slice(at + 1)];
}

const counted = new Set<NewsItem['kind']>(['became final', 'restless total moved']);

export function newsText({ news: { since, items }, slices, runs }: StatusReport) {
  const shown: NewsItem[] = [];
  const more = new Map<NewsItem['kind'], number>();
  let room = SHOWN;
  // Slices that share control totals have the same news.
  for (const { slices: slice, first, count } of alikeSlices(items)) {
    const { kind, periods } = first;
    const isAudit = kind.startsWith('audit ');
    if (isAudit || (room > 0 && !counted.has(kind))) {
      shown.push({ ...first, slice });
      if (!isAudit) room -= 1;
    } else {
      const number = kind === 'horizon contradicted' ? 1 : (periods ?? 1);
      more.set(kind, (more.get(kind) ?? 0) + number * count);
    }
  }
  const others = [...more].map(([kind, number]) => {
    const [noun, verb] = wordsOf(kind);
    return `${countText(number, noun)} ${verb}`;
  });
  const control = agreementOf(slices);
  const [agreement = 'there are no control totals to compare with'] = agreementText(control);
  // Control totals that the last sync could not read show nothing of its night.
  const { as_of: night = '' } = runs.find(({ command }) => command === 'sync') ?? {};
  const isRead = control !== null && control.read_at.slice(0, SECONDS) >= night.slice(0, SECONDS);
  const nothing = isRead && control.moved === 0 ? 'nothing moved: ' : 'nothing new: ';
  return {
    title: since === null ? 'News' : `News since ${minuteText(since)}`,
    lines: [
      ...shown.map((item) => `${clockText(item.found_at)} ${oneLine(itemText(item))}`),
      ...(others.length === 0 ? [] : [`${shown.length === 0 ? '' : 'also '}${others.join(', ')}`]),
      `${items.length === 0 ? nothing : ''}${agreement}`,
    ],
  };
}

function itemText(item: NewsItem) {
  const { kind, slice, periods, before, after } = item;
  const [name, label] = [item.name ?? '', item.label ?? ''];
  const place = slice === null ? '' : `${slice}: `;
  const many = countText(periods ?? 0, 'period');
  const days = daysText(item.first_period ?? '', item.last_period ?? '');
  const time = periods === 1 ? days : `${many} (${days})`;
  if (kind === 'audit held') return `${label}; that run published nothing`;
  if (kind === 'audit warned') return label;
  if (kind === 'final total moved' || kind === 'total moved') {
    const share = item.share === null ? '' : percentText(item.share, 1, 'signed');
    const final = kind === 'final total moved' ? 'final ' : '';
    const moved = `${place}${final}${name} of ${time} moved`;
    // Ratios of several periods do not add up.
    if (before === null && after === null)
      return `${moved}${share === '' ? '' : `, at most ${share}`}`;
    const [from, to] = [before, after].map((total) =>
      total === null ? 'none' : amountText(total),
    );
    return `${moved} from ${from} to ${to}${share === '' ? '' : ` (${share})`}`;
  }
  if (kind === 'horizon contradicted')
    return `${place}${name} moved after its horizon of ${before ?? 0}d in ${many}; its history supports ${after ?? 0}d`;
  if (kind === 'gap filled')
    return `${place}${time} ${periods === 1 ? 'was missing and is' : 'were missing and are'} loaded now`;
  const [noun, verb] = wordsOf(kind);
  const readable = label === '' || label === name ? name : `${label} (${name})`;
  if (kind === 'metric kept')
    return `${noun} ${readable} is no longer listed in full, and stays as it was`;
  return `${noun} ${readable} is ${verb === 'gone' ? 'no longer listed' : 'listed now'}`;
}
