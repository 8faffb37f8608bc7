/** The reports API: a report and filters-data, as the world states them (service-interface: Endpoints). */

import { type Answer, bytesAnswer, documentAnswer, isDocument } from './answer.ts';
import { errorAnswer } from './error-body.ts';
import { emptyReport, quirkyReport, type ReportRequest } from './quirky-report.ts';
import { RequestRefused, type World } from './world/world.ts';

/**
 * The report as of an instant, as the world's quirks have it answered; 204 for an empty one, the world's own refusal for a
 * question it does not take.
 */
export function answerReport(world: World, request: ReportRequest): Answer {
  const { quirks } = world;
  return answerOrRefusal(() => {
    const report = world.report(request.address.searchParams, request.now);
    if (report === null) {
      const document = emptyReport(quirks, request);
      return document === null ? errorAnswer(204, 'empty', '') : documentAnswer(document);
    }
    if (report.rows.length > (quirks.maxRows ?? Infinity)) return errorAnswer(504, 'html', '504 Gateway Time-out');
    const isAdditive = (metric: string): boolean => world.isAdditive(metric);
    return documentAnswer(quirkyReport({ ...report }, quirks, isAdditive, request));
  });
}

export function answerFiltersData(world: World, query: URLSearchParams, now: Date): Answer {
  return answerOrRefusal(() => documentAnswer({ ...world.filtersData(query, now) }));
}

function answerOrRefusal(answer: () => Answer): Answer {
  try {
    return answer();
  } catch (thrown) {
    if (!(thrown instanceof RequestRefused)) throw thrown;
    const { status, body } = thrown;
    if (isDocument(body)) return documentAnswer(body, status);
    return typeof body === 'string'
      ? bytesAnswer(body, 'text/plain; charset=utf-8', status)
      : errorAnswer(status, 'empty', '');
  }
}
