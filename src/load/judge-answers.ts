/** The verdict on a window's answers, from what inspection found. Pure. */

import { Failure } from '../errors.ts';
import type { Window } from '../model/window.ts';
import { saysTruncated, type Answer, type BrokenAnswer } from './answers.ts';
import { subjectOf } from './check.ts';
import type { LoadResult, SoundAnswers } from './load-result.ts';

/** Sound answers with their warnings, or what is to be done instead of loading. Null, a part without content, is sound. */
export function judgeAnswers(
  window: Window,
  answers: readonly (Answer | BrokenAnswer | null)[],
): SoundAnswers | LoadResult {
  const sound: Answer[] = [];
  for (const [partNo, answer] of answers.entries()) {
    if (answer === null) continue;
    if ('because' in answer) return brokenResult(window, answer);
    const verdict = judgeAnswer(window, answer, partNo);
    if (verdict !== null) return verdict;
    sound.push(answer);
  }
  const asked = new Set([...window.slice.dimensions, ...window.slice.metrics, 'attr_dependency']);
  const extra = [...new Set(sound.flatMap(({ keys }) => [...keys].filter((key) => !asked.has(key))))].sort();
  const warnings = [...new Set(sound.flatMap((answer) => answer.warnings))].map((message) => ({
    code: 'SERVICE_WARNING',
    message: `The service warned: ${message}`,
  }));
  if (extra.length > 0) {
    warnings.push({
      code: 'UNKNOWN_KEYS',
      message: `Rows carried keys that were not asked for, kept in _extra: ${extra.join(', ')}.`,
    });
  }
  const sizes = answers.map((answer) => (answer !== null && 'rowCount' in answer ? answer.rowCount : 0));
  return { answers: sound, warnings, extra, heaviest: sizes.indexOf(Math.max(...sizes)) };
}

function brokenResult(window: Window, answer: BrokenAnswer): LoadResult {
  const failure = new Failure(
    'DATA_MALFORMED',
    `${subjectOf(window)}: the answer was not one whole report: ${answer.because}.`,
    {
      hint: 'Run again later; nothing was loaded.',
    },
  );
  return { kind: 'ask again', window, failure };
}

function judgeAnswer(window: Window, answer: Answer, partNo: number): LoadResult | null {
  const { dimensions, metrics, parameters } = window.slice;
  const lost = answer.rowCount === 0 ? [] : dimensions.filter((name) => !answer.commonKeys.has(name));
  const gone = answer.rowCount === 0 ? [] : metrics.filter((name) => !answer.keys.has(name));
  if (lost.length > 0 || gone.length > 0) {
    const what = [
      ...(lost.length > 0 ? [`dimension ${lost.join(', ')}`] : []),
      ...(gone.length > 0 ? [`metric ${gone.join(', ')}`] : []),
    ].join(' and ');
    const failure = new Failure('DATA_MALFORMED', `${subjectOf(window)}: the rows lacked the requested ${what}.`, {
      facts: { missing: [...lost, ...gone].join(', ') },
      hint: 'Run `ripen check` to see whether the service still knows the name, or take it out of the slice.',
    });
    return { kind: 'failed', window, failure };
  }
  const limit = Number(parameters['limit'] ?? Infinity);
  const truncation = answer.warnings.find(saysTruncated);
  const because = answer.isPaged
    ? 'the answer was one page of several, in a form the interface does not document'
    : truncation !== undefined
      ? `the service warned: ${truncation}`
      : answer.rowCount >= limit
        ? `the answer had ${answer.rowCount} rows, as many as the limit that was sent`
        : null;
  if (because === null) return null;
  const failure = new Failure('DATA_INCOMPLETE', `${subjectOf(window)}: the answer was not complete: ${because}.`, {
    facts: { rows: answer.rowCount },
    hint: 'Remove `limit`, or drop a dimension from the slice; nothing was loaded.',
  });
  return { kind: 'split', window, failure, partNo };
}
