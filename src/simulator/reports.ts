/** The reports API: a report and filters-data, as the world states them (service-interface: Endpoints). */

import { type Answer, bytesAnswer, documentAnswer, isDocument } from './answer.ts';
import { errorAnswer } from './error-body.ts';
import { RequestRefused, type World } from './world/world.ts';

/** The report as of an instant; 204 for an empty one, the world's own refusal for a question it does not take. */
export function answerReport(world: World, query: URLSearchParams, now: Date): Answer {
  return answerOrRefusal(() => {
    const report = world.report(query, now);
    return report === null ? errorAnswer(204, 'empty', '') : documentAnswer({ ...report });
  });
}

export function answerFiltersData(world: World, query: URLSearchParams): Answer {
  return answerOrRefusal(() => documentAnswer({ ...world.filtersData(query) }));
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
