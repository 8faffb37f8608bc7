/** The rows of the interface table that are about reports, filters-data and ad spend. */

import { interfaceNames, type InterfaceKind, type InterfacePart, type InterfaceRow } from './endpoints-names.ts';

const REPORTS = 'integration/interface-report.test.ts';
const LISTS = 'integration/interface-catalog.test.ts';
const CALLS = 'integration/service-calls.test.ts';
const EXACT = 'integration/exactness.test.ts';
const SPEND = 'fault/service-writes.test.ts';
const OUTCOMES = 'fault/spend-outcomes.test.ts';
const RULES = 'unit/spend-rules.test.ts';
const JUDGE = 'unit/load-judge-answers.test.ts';
const CONFIG = 'unit/config-problems.test.ts';

const REPORT = 'GET {reports_url}/reports-service/report';
const FILTERS = 'GET {reports_url}/reports-service/filters_data';
const COST = 'POST {cost_url}/cost';

const all = (part: InterfacePart, kind: InterfaceKind): readonly string[] => interfaceNames[part][kind] ?? [];

/** What one status of a report leads to. */
const statusOf = (status: string, what: string): InterfaceRow => ({
  part: REPORT,
  kind: 'status',
  names: [status],
  what,
  proofs: [[REPORTS, 'answers %i to a report: %s, in its own words, after %i calls']],
});

const filtersStatusOf = (status: string, what: string): InterfaceRow => ({
  part: FILTERS,
  kind: 'status',
  names: [status],
  what,
  proofs: [[REPORTS, 'answers %i to filters_data: %s']],
});

export const reportRows: readonly InterfaceRow[] = [
  {
    part: REPORT,
    kind: 'parameter',
    names: ['dimensions', 'metrics', 'date_period', 'format_dates'],
    what: 'the lists of the slice, at least one of each; absolute days, both inclusive; format_dates is always false',
    proofs: [
      [REPORTS, 'sends dimensions, metrics, date_period with both its days, and format_dates=false, each once'],
      [CONFIG, 'a slice with %j is one problem: %s'],
    ],
  },
  {
    part: REPORT,
    kind: 'parameter',
    names: ['cohort_maturity', 'utc_offset', 'attribution_type', 'attribution_source', 'sandbox'],
    what: 'set per slice or under `defaults`; sent also when nothing was set, never left to a default that moves',
    proofs: [
      [REPORTS, 'that sets %s to %j sends %j, once, and no other slice does'],
      [REPORTS, 'that says nothing sends the 5 parameters with a default of ours, and no other'],
    ],
  },
  {
    part: REPORT,
    kind: 'parameter',
    names: [
      'reattributed',
      'iap_revenue_mode',
      'ad_revenue_sources',
      'os_names',
      'ad_spend_mode',
      'sort',
      'index',
      'period_over_period',
      'currency',
    ],
    what: 'set per slice or under `defaults`, sent when set; `check` names those that decide numbers and were left out',
    proofs: [
      [REPORTS, 'that sets %s to %j sends %j, once, and no other slice does'],
      [
        'unit/config-parameters.test.ts',
        'the five with a documented default are always stated, the four without are left and listed',
      ],
    ],
  },
  {
    part: REPORT,
    kind: 'dimension filter',
    names: all(REPORT, 'dimension filter'),
    what: '`filters`, for each of the 34 dimensions, every value encoded; lists for in and not_in, one text for the others',
    proofs: [
      [REPORTS, 'with the filter %s: %j sends %j, once, and no other slice does'],
      [EXACT, 'all 8 dimension filters and all 6 metric filters reach the service and come back as it answered'],
      ['unit/config-parameters.test.ts', 'all 34 dimensions take all 8 suffixes, a metric all 6'],
    ],
  },
  {
    part: REPORT,
    kind: 'metric filter',
    names: all(REPORT, 'metric filter'),
    what: '`filters`, for any metric, numbers as they are written',
    proofs: [
      [REPORTS, 'with the filter %s: %j sends %j, once, and no other slice does'],
      [EXACT, 'all 8 dimension filters and all 6 metric filters reach the service and come back as it answered'],
    ],
  },
  {
    part: REPORT,
    kind: 'dimension',
    names: ['hour', 'day', 'week', 'month', 'year', 'quarter'],
    what: 'TIMESTAMP for hours, else DATE, the first day of the period; the finest one is the grain of the slice',
    proofs: [
      [EXACT, 'every grain, hour to year and none, is stored value by value as the service said it'],
      [EXACT, 'an hourly and a daily slice in %s keep each hour and day of that offset'],
    ],
  },
  {
    part: REPORT,
    kind: 'dimension',
    names: all(REPORT, 'dimension').filter((name) => !/^(hour|day|week|month|year|quarter)$/.test(name)),
    what: 'VARCHAR, ids too, empty text apart from NULL',
    proofs: [[EXACT, 'every text dimension with its hostile names comes back byte for byte']],
  },
  {
    part: REPORT,
    kind: 'field',
    names: ['rows', 'attr_dependency'],
    what: 'typed and stored, `attr_dependency` as JSON and part of the key; a report without rows is no report',
    proofs: [
      [
        REPORTS,
        'of 200 has its rows stored with their attr_dependency, is proven by its totals, and its warnings are kept',
      ],
      [JUDGE, 'with $name is judged: $verdict'],
    ],
  },
  {
    part: REPORT,
    kind: 'field',
    names: ['totals', 'warnings', 'pagination'],
    what: 'prove that the rows are complete: equal sums, no word of rows cut off, null; else the window is split or fails',
    proofs: [
      [
        REPORTS,
        'of 200 has its rows stored with their attr_dependency, is proven by its totals, and its warnings are kept',
      ],
      [JUDGE, 'with $name is judged: $verdict'],
      [JUDGE, '%j says that rows are missing'],
    ],
  },
  {
    part: REPORT,
    kind: 'status',
    names: ['200'],
    what: 'saved as it came, then judged and loaded',
    proofs: [
      [
        REPORTS,
        'of 200 has its rows stored with their attr_dependency, is proven by its totals, and its warnings are kept',
      ],
      [CALLS, 'is asked for with every value encoded, ISO dates and the headers of the account'],
    ],
  },
  {
    part: REPORT,
    kind: 'status',
    names: ['204'],
    what: 'an empty report, as valid as any',
    proofs: [[CALLS, 'that is empty (204) is null']],
  },
  statusOf('400', 'fails its window at once, with the words of the service and the parameter it names'),
  statusOf('401', 'ends the run'),
  statusOf('403', 'fails its window alone'),
  statusOf('429', 'tried again after the wait the service asks for, with fewer calls at once'),
  statusOf('503', 'tried again, up to 6 times and within the budget of the run'),
  statusOf('504', 'asked for in smaller parts'),
  {
    part: FILTERS,
    kind: 'parameter',
    names: ['required_filters'],
    what: 'all 29 lists in one call for `sync` and `catalog`, those that are compared for `check`; divided where a URL would grow too long',
    proofs: [
      [LISTS, 'asks for the 29 lists of the interface in 1 call, without section or search'],
      [CALLS, 'with 20 000 characters of search words is asked in several calls below 6100 characters'],
    ],
  },
  {
    part: FILTERS,
    kind: 'parameter',
    names: ['section'],
    what: '`catalog --section`',
    proofs: [[LISTS, '--section %s asks for that section of the metrics and prints no other']],
  },
  {
    part: FILTERS,
    kind: 'parameter',
    names: ['__contains'],
    what: 'offered by the connection for each list; `catalog WORD` searches by itself, in short names too',
    proofs: [
      [LISTS, 'the search %s__contains finds what the service finds'],
      [
        LISTS,
        'prints the items with a word in id or names, whatever its case, under the names the service has for fields',
      ],
    ],
  },
  {
    part: FILTERS,
    kind: 'list',
    names: all(FILTERS, 'list').filter((name) => name !== 'partners'),
    what: 'kept in its table and in `ripen.catalog`; what changes between runs is a schema change; a list that is not answered stays',
    proofs: [
      [LISTS, 'keeps every item of %s: %s'],
      [
        'integration/catalog-tables.test.ts',
        'what came, went and changed its name or formatting between 2 runs is recorded as schema changes of the second',
      ],
      [
        'integration/catalog-tables.test.ts',
        'keeps what it held, with a warning that is recorded, too; so does one that is answered empty',
      ],
    ],
  },
  {
    part: FILTERS,
    kind: 'list',
    names: ['partners'],
    what: "kept in `ripen.catalog` alone: the table `partners` is the campaign API's list, which says more",
    proofs: [
      [LISTS, 'keeps every item of %s: %s'],
      [
        'integration/catalog-tables.test.ts',
        '6 are metrics, 9 a table of their own, 13 report_options, and partners is kept in ripen.catalog alone',
      ],
    ],
  },
  {
    part: FILTERS,
    kind: 'section',
    names: all(FILTERS, 'section'),
    what: '`catalog --section`',
    proofs: [[LISTS, '--section %s asks for that section of the metrics and prints no other']],
  },
  {
    part: FILTERS,
    kind: 'item field',
    names: ['id', 'name', 'short_name', 'section', 'formatting'],
    what: 'read as text, a missing one as empty; `formatting` and `section` decide type, horizon and additivity of a metric',
    proofs: [
      [
        LISTS,
        'prints the items with a word in id or names, whatever its case, under the names the service has for fields',
      ],
      [CALLS, 'is read from the %s example, missing fields as empty'],
      [CALLS, 'takes ids of any scalar type as text, ignores unknown keys and drops items without an id'],
    ],
  },
  {
    part: FILTERS,
    kind: 'status',
    names: ['200'],
    what: 'read; one with none of the lists asked for is garbled, for `check` as for `sync`',
    proofs: [
      [CALLS, 'answered 200 with %s is asked for once more, then SOURCE_GARBLED with its first words'],
      [LISTS, 'finds an error object under 200 to be an error, with its first words'],
      [
        'integration/sync.test.ts',
        'an error object in the place of the catalog wipes nothing: the stored one serves, with a warning',
      ],
    ],
  },
  {
    part: FILTERS,
    kind: 'status',
    names: ['204'],
    what: 'leaves every list as it was',
    proofs: [[CALLS, 'answered 204 leaves every list absent, none empty']],
  },
  filtersStatusOf('400', 'a stored catalog serves instead, with a warning; without one the run fails'),
  filtersStatusOf('401', 'ends the run'),
  filtersStatusOf('403', 'a stored catalog serves instead, with a warning; without one the run fails'),
  filtersStatusOf('429', 'tried again after the wait the service asks for, with fewer calls at once'),
  filtersStatusOf('503', 'tried again, up to 6 times and within the budget of the run'),
  filtersStatusOf('504', 'tried again, up to 3 times'),
  {
    part: COST,
    kind: 'parameter',
    names: all(COST, 'parameter'),
    what: 'columns of the file, judged before the first call, form-encoded, the amount in its own text',
    proofs: [
      [RULES, 'whose %s is %j is rejected for just that'],
      [SPEND, 'is sent form-encoded with the cost headers and without the token'],
      [RULES, 'may have %s'],
    ],
  },
  {
    part: COST,
    kind: 'rule',
    names: ['lower-case names'],
    what: 'a column in another case refuses the file, as its values would be overlooked',
    proofs: [
      ['integration/spend-files.test.ts', 'a key in wrong case refuses the file, as its values would be overlooked'],
    ],
  },
  {
    part: COST,
    kind: 'rule',
    names: ['a Cost ID is unique'],
    what: 'within the file and against all that was ever sent; an accepted one is never sent again',
    proofs: [
      [
        'integration/spend-send.test.ts',
        'with equal copies sends the first; with different ones none, and names the first line',
      ],
      ['integration/spend-send.test.ts', 'sent twice is accepted once; a second file may hold the same lines'],
      [
        'fault/spend-kill.test.ts',
        '5,000 lines, 200 of them bad, through 10 kills: what is told as accepted was accepted once, the rest is told as unknown',
      ],
    ],
  },
  {
    part: COST,
    kind: 'status',
    names: ['200'],
    what: 'accepted, unless what came is a web page',
    proofs: [
      [SPEND, 'is sent form-encoded with the cost headers and without the token'],
      [SPEND, 'a body cut after 200 is still accepted: the status has said so'],
    ],
  },
  {
    part: COST,
    kind: 'status',
    names: ['400', '403'],
    what: 'rejected, with the words of the service; the line is in the rejects file and may be mended',
    proofs: [
      [SPEND, 'answered %i is rejected with the words of the service'],
      [OUTCOMES, 'with %i is told beside the bad lines, and sent again once it is mended'],
    ],
  },
  {
    part: COST,
    kind: 'status',
    names: ['401'],
    what: 'stops the sending; nothing is recorded of the lines it met',
    proofs: [
      [SPEND, 'answered 401 stops this line and every later one, but not the reports'],
      [
        OUTCOMES,
        '401: at most the lines in hand are tried, nothing is recorded of them, and the next run sends the rest',
      ],
    ],
  },
  {
    part: COST,
    kind: 'rule',
    names: ['other statuses'],
    what: 'unknown, and only sent again with --resend-unknown; 429 and 503 say that nothing was taken and are tried again; 404 and redirects come from elsewhere and stop the sending',
    proofs: [
      [SPEND, '%s leaves the outcome unknown and is not sent again'],
      [SPEND, 'answered %i, and so certainly not accepted, is sent again'],
      [SPEND, 'answered %i came to no ad spend API at all: %s, sent once and not accepted'],
      [OUTCOMES, 'of a line %s is unknown, and only resent when told'],
    ],
  },
  {
    part: 'Limits',
    kind: 'rule',
    names: [
      'cost_id: 12 to 256 characters',
      'tag: at most 128 characters',
      'acceptance: up to 7 days after the engagement',
    ],
    what: 'a line that breaks one is rejected before the first call',
    proofs: [
      [RULES, 'whose %s is %j is rejected for just that'],
      [RULES, 'may have %s'],
      [RULES, 'engaged at %s is untimely'],
    ],
  },
  {
    part: 'Limits',
    kind: 'rule',
    names: ['more than 50 simultaneous requests'],
    what: 'never more than `max_concurrency` reports and filters-data calls in flight, across slices',
    proofs: [
      [
        'integration/sync.test.ts',
        '60 windows are asked for with at most %i calls at once, as the service counts them',
      ],
      [CALLS, 'is one of at most 7 in flight where 7 are allowed, whatever else is asked'],
      [
        'integration/simulator-reports.test.ts',
        'answers the 51st of 51 simultaneous calls with 429 and lets the next one in',
      ],
    ],
  },
];
