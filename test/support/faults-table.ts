/**
 * Which test proves what of every fault and every intruder ripen was built to withstand.
 *
 * `docs/faults.md` is made from this table; a test holds both against each other and against the test files.
 */

/** A test file below `test/`, and the title of a test in it as it is written there. */
export type Proof = readonly [file: string, title: string];

export interface FaultRow {
  /** The number of a fault, or the first word of an intruder. */
  readonly id: string;
  readonly what: string;
  readonly outcome: string;
  readonly proofs: readonly Proof[];
  /** What of it no test proves, and why; null when every part is proven. */
  readonly missing: string | null;
}

/** A row whose every part is proven. */
function row(id: string | number, what: string, outcome: string, proofs: readonly Proof[]): FaultRow {
  return { id: String(id), what, outcome, proofs, missing: null };
}

const ANSWERS = 'fault/service-answers.test.ts';
const BODIES = 'fault/service-bodies.test.ts';
const LOAD = 'fault/load-answers.test.ts';
const NUMBERS = 'fault/load-numbers.test.ts';
const CRAWL = 'fault/links-crawl.test.ts';
const STOPS = 'fault/sync-stops.test.ts';
const HEAVY = 'fault/sync-heavy.test.ts';
const FILES = 'fault/warehouse-files.test.ts';
const TOKEN = 'e2e/intruders-token.test.ts';
const PAGE = 'unit/status-page.test.ts';
const INPUT = 'e2e/intruders-input.test.ts';
const SIGNALS = 'e2e/signals.test.ts';
const SPLITTING = 'fault/splitting.test.ts';
const STORE = 'integration/publish-store.test.ts';
const STEPS = 'fault/failing-steps.test.ts';
const DESTINATIONS = 'fault/destinations.test.ts';

/** 504, 429, cut bodies and two restarts at once. */
const CHAOS: Proof = [
  'fault/sync-chaos.test.ts',
  'with max_concurrency %i the load completes in one run, every cell equal to the truth, never more in flight than that',
];

/** Two tables of `load-answers` name the same good or bad end for many a spoilt answer. */
const MENDED: Proof = [LOAD, 'equals the truth after $name'];
const FAILING: Proof = [LOAD, 'fails with $code for $name, and nothing of it is loaded'];

export const faultRows: readonly FaultRow[] = [
  row(1, 'one 429', 'waited out as asked, in full up to 5 minutes; fewer calls at once', [
    [ANSWERS, 'with Retry-After: 120 is waited out in full'],
    [
      ANSWERS,
      'that asks for an hour is waited out for 5 minutes, and one that asks for nothing half fixed, half random',
    ],
  ]),
  row(2, 'another job uses up the calls', 'sinks to what is left; stops at the retry budget or the deadline; 75', [
    [ANSWERS, 'sinks 10 calls to the 2 that are left, all of which succeed in the end, and recovers'],
    [ANSWERS, 'that never ends costs 60 calls no more than the budget of 40 retries'],
    [STOPS, 'a deadline that passes while 19 of 20 windows hang keeps the 1 that came and says so'],
    CHAOS,
  ]),
  row(
    3,
    '500, 502, 503, refused, no DNS',
    'at most 6 tries with full jitter, a breaker with one probe, the rest kept; 75',
    [
      [ANSWERS, '%i three times costs three retries with full jitter'],
      [ANSWERS, '503 for ever opens the breaker: 40 calls end in few probes, not in 240 requests'],
      [ANSWERS, 'a refused connection fails after 6 tries, naming the origin and ECONNREFUSED'],
      [ANSWERS, 'a name that DNS does not know fails after 6 tries as SOURCE_UNAVAILABLE'],
      [
        STOPS,
        '503 for ever on 1 window of 20 costs 6 tries, fails that window alone with exit code 75, and the next run loads it',
      ],
      CHAOS,
    ],
  ),
  row(
    4,
    '504, or headers that never come',
    'divided by days, then by values; the size is remembered; one window fails alone; 75',
    [
      [HEAVY, '504 for more than 20 rows splits 20 days into windows of 5, whose sum equals an undisturbed load'],
      [HEAVY, 'the next run asks for no more than the 5 days that were light enough, and meets no 504'],
      [HEAVY, 'a time-out is taken as too heavy: 8 days that hang are asked for in halves of 4'],
      [
        SPLITTING,
        'no report that was answered is asked for again while its day is divided further, and each is counted',
      ],
      [SPLITTING, 'a single row that is too heavy fails its window alone, after a bounded number of requests'],
      CHAOS,
    ],
  ),
  row(5, '400', "not repeated; the service's words, the slice and the parameter are told; others go on; 78", [
    [ANSWERS, 'is not retried and carries the words of the service and the parameter'],
    [LOAD, 'beside all of these loads its 4 days, and the gravest failure gives the exit code 78'],
  ]),
  row(
    6,
    '401 or 403 at the start, 403 for one slice, a redirect',
    'stops untouched; that slice alone; not followed; 78',
    [
      [LOAD, 'a 401 at the start stops at once: 1 request, nothing touched, exit code 78'],
      [STOPS, '403 for 1 slice of 3 fails that one alone'],
      [ANSWERS, 'a redirect is not followed and named by its origin only'],
    ],
  ),
  row(7, 'a token that is reset in the middle', 'the queue is cancelled, what was loaded is kept; 78', [
    [
      STOPS,
      'a token reset after 8 of 20 windows keeps what was committed, fails once, and is not used more than 3 times again',
    ],
    [ANSWERS, 'mid-run cancels the queue: of 200 calls only those in flight see it, and later ones fail unsent'],
  ]),
  row(8, '204, or far fewer rows for a settled window', 'asked again, then the old rows are held; 65', [
    [
      'fault/load-shrinking.test.ts',
      '%s for 4 days that ended 18 days ago is asked for twice, then the old rows stay, with exit code 65',
    ],
    [
      'fault/load-shrinking.test.ts',
      '--accept-loss takes 0 rows for a settled window after 1 request, and leaves the other days alone',
    ],
    [
      'integration/refresh-nights.test.ts',
      'a day that the service empties while it is young ends up with 0 rows, not with its old ones',
    ],
  ]),
  row(
    9,
    'a reset in the body, JSON cut short, a wrong length',
    'the part is thrown away and the whole asked for again',
    [[BODIES, '%s: the part is discarded and the whole asked for again'], MENDED, CHAOS],
  ),
  row(10, 'a page under 200', 'one more try, then the window fails with the first words; 75', [
    [BODIES, '%s is asked for once more and then fails with the first words of what came'],
    FAILING,
  ]),
  row(11, 'a body that drips or never ends', 'cut at a total deadline, or at a cap of plain bytes; 75', [
    [BODIES, 'one byte in 10 ms is cut at the total deadline of 0.15 s, though it never idles'],
    [BODIES, 'one that never ends stops at the cap of 100 000 bytes'],
  ]),
  row(12, 'a gzip bomb', 'stops at the cap; 65', [
    [BODIES, 'of 200 MB in 200 KB stops at the cap of 1 MB, is not asked for again and leaves no file'],
  ]),
  row(13, 'text in a metric', 'recorded with its reason, its window held; never NULL or 0 in its place; 65', [
    [NUMBERS, '$text in $metric holds its window of 4 days and is recorded with its reason'],
    [
      NUMBERS,
      'with 1 bad row under max_rejects 1 loads the other rows, warns, ends with 0, and stays due until it comes clean',
    ],
    [NUMBERS, 'makes the run end with exit code 65'],
  ]),
  row(14, 'a number its column is too narrow for', 'stored exactly, the column widened', [
    [NUMBERS, 'of $name is stored exactly, in a column as wide as it needs'],
  ]),
  row(15, 'one key twice', 'equal: one, with a warning; different: the window fails; 65', [MENDED, FAILING]),
  row(16, 'a day outside the window, a dimension missing', 'the window fails, nothing is loaded; 65', [FAILING]),
  row(17, 'a new key, a metric gone', 'kept in _extra with a warning; the window fails by name; 65', [
    [LOAD, 'a key nobody asked for is kept in _extra for its rows, with a warning'],
    FAILING,
  ]),
  row(18, 'totals that disagree, rows cut off', 'not proven: divided, asked again, at last failed; 65', [
    [LOAD, 'a report cut to 6 rows (%s) is split from 4 days into single ones, which fit'],
    MENDED,
    FAILING,
  ]),
  row(19, 'a next link that loops, never ends, or leads elsewhere', 'stops; the token never leaves its origin; 65', [
    ['fault/service-paging.test.ts', 'that points to itself stops after 1 page as SOURCE_ENDLESS_PAGES'],
    ['fault/service-paging.test.ts', 'that points to another origin is not followed: the token never leaves its own'],
    [CRAWL, 'a next link that leads back to the start costs its app alone, with SOURCE_ENDLESS_PAGES'],
  ]),
  row(
    20,
    'links that change while they are paged, a page that fails',
    'stored by token; nothing closed unless the crawl was complete; 75',
    [
      [CRAWL, 'links that are added and removed while they are paged are stored once, by token, and the rest is whole'],
      [CRAWL, 'one failed page of many leaves its app as it was and nothing closed; the other app is replaced'],
      ['integration/links-partners.test.ts', 'a failed second page leaves the partners as they were'],
    ],
  ),
  row(21, 'kill -9 at any step', 'the next run ends where one that was never disturbed ends', [
    [
      'e2e/kills.test.ts',
      'whenever a sync is killed, the next one leaves what a sync never disturbed leaves, and no other file',
    ],
    ['fault/publish-kills.test.ts', 'a first publish killed when %s leaves whole files, and the next one completes it'],
    [
      'fault/spend-kill.test.ts',
      '5,000 lines, 200 of them bad, through 10 kills: what is told as accepted was accepted once, the rest is told as unknown',
    ],
  ]),
  row(22, 'SIGTERM, SIGINT', 'nothing new, the summary, within 20 s; a second one at once; 143, 130', [
    [SIGNALS, 'SIGTERM ends with 143: nothing new is asked, what was loaded is kept and summed up as JSON'],
    [SIGNALS, 'SIGINT ends with 130 and the summary as text'],
    [SIGNALS, 'a second signal ends it at once, without a summary, and the next run completes what is missing'],
    ['fault/warehouse-held.test.ts', 'a signal ends the wait for a held warehouse, long before its 60 s are over'],
  ]),
  row(23, 'a full disk', 'rolled back, parts removed, the old copies served; 74', [
    [
      'e2e/disk-full.test.ts',
      'a disk with %i KiB left, too few for %s: exit code 74, the old snapshot served; with room again the next run completes',
    ],
    [
      STEPS,
      'whichever step fails, the night tells a failure of the disk, serves each slice old or new, and the next run completes it',
    ],
  ]),
  row(24, 'a warehouse that is open elsewhere, two runs at once', 'names the holder, waits up to --lock-wait; 75', [
    [SIGNALS, 'two syncs at once: the second names the first, gives up after --lock-wait 1s with 75, and asks nothing'],
    [SIGNALS, 'two syncs at once: the second waits its turn, and loads what the first did not'],
    [SIGNALS, 'a session that only reads holds it as well: it is named, and once it is closed the sync goes on'],
    ['fault/warehouse-held.test.ts', 'of 2 runs started at once in one process that wait for each other, both load'],
  ]),
  row(25, 'a warehouse that is corrupt, foreign or newer', 'says so, with both versions, and repairs nothing; 74', [
    [FILES, 'a warehouse %s is refused as what cannot be read'],
    [FILES, "somebody else's DuckDB database is refused as foreign"],
    [FILES, 'a warehouse of version 99 is refused with both versions, and is not migrated back'],
  ]),
  row(26, 'a stray .wal', 'refused, as DuckDB would replay it; 74', [
    [FILES, 'a stray .wal without its database is refused, as DuckDB would replay it'],
    [
      'integration/publish-snapshot.test.ts',
      'a target with a write-ahead log beside it, stray or of a session that is writing',
    ],
  ]),
  row(27, 'a destination that cannot be written', 'found before the first request; 74', [
    [DESTINATIONS, 'a warehouse below a file'],
    [DESTINATIONS, 'a directory in the place of the warehouse'],
    [DESTINATIONS, 'a snapshot and a lake that cannot be, both told at once'],
    [DESTINATIONS, 'a disk that is mounted read-only, for each of the three'],
    ['integration/publish-snapshot.test.ts', 'a directory that cannot be written is STORAGE_FAILED'],
  ]),
  row(28, 'a corrupt or foreign file in spool or archive', 'set aside and named; 65', [
    ['fault/archive.test.ts', 'sets $name aside, names it, loads the answer before it, and exits with 65'],
    ['fault/archive.test.ts', 'sets a foreign file and the answer of another slice aside, and loads the rest'],
    [INPUT, 'a link in the place of the spool is not followed: what it leads to stays'],
  ]),
  row(29, 'publishing killed between two files; S3 says 503 or 403', 'every file whole, the rest by the next run; 74', [
    [
      'fault/publish-kills.test.ts',
      'a publish of 29 changed days and 1 vanished, killed %i ms after it began, leaves each day old, new or gone',
    ],
    [
      'fault/publish-store.test.ts',
      'a publish to a bucket of 29 changed days and 1 vanished, killed in the middle, leaves each day old, new or gone',
    ],
    [STORE, 'says 503 in the HTML of a proxy, and stays so, is STORAGE_FAILED after 5 tries; the next run completes'],
    [STORE, 'says 403 to one key is STORAGE_FAILED at once, the manifest untouched, every key whole, the rest redone'],
  ]),
  row(30, 'a clock that is off', 'minutes: warns; an hour: nothing is called final; 75', [
    ['fault/sync-clock.test.ts', 'a service %d minutes ahead of this machine is worth 1 warning, and the run goes on'],
    [
      'fault/sync-clock.test.ts',
      'a service %d minutes ahead of this machine ends the run before any report, with exit code 75',
    ],
    ['fault/sync-clock.test.ts', 'an as-of instant is never held against the service clock, be it 180 minutes off'],
  ]),
  row(31, 'any time zone of the host', 'no difference', [
    [
      'e2e/hosts.test.ts',
      'hosts in UTC, Apia, São Paulo and Kolkata plan the same windows, load the same rows and show the same status',
    ],
    ['property/plan.test.ts', 'hosts in Apia, São Paulo, Kathmandu and at UTC plan the same'],
  ]),
  row(32, 'an output nobody reads on', 'the load goes on', [
    [SIGNALS, '`| head -1` gets its line, and the load goes on to its end with exit code 0'],
    ['e2e/cli.test.ts', 'goes on when stdout and stderr are closed'],
    ['integration/publish-export.test.ts', 'to a stream that is closed early is no failure'],
  ]),
  row(
    33,
    'mistakes in the configuration',
    'all at once with place, what is allowed and the nearest name; nothing requested; 78',
    [
      [
        'unit/config-problems.test.ts',
        'a file with ten different mistakes is told all ten at once, each with its line and column',
      ],
      [
        'unit/config-text.test.ts',
        'a missing variable is one problem at its value, and the value is not complained about besides',
      ],
      ['e2e/cli.test.ts', 'without a configuration every command that needs one ends with 78'],
    ],
  ),
  row(
    34,
    'ad spend: bad lines, one Cost ID twice, a lost connection',
    'judged before the first call, accepted once, unknown is told; 65',
    [
      ['integration/spend-send.test.ts', 'is sent but for its 2 bad lines, and the exit is that of SPEND_REJECTED'],
      ['integration/spend-send.test.ts', 'sent twice is accepted once; a second file may hold the same lines'],
      ['integration/spend-send.test.ts', 'is sent again with --resend-unknown, but never with other content'],
      ['fault/service-writes.test.ts', '%s leaves the outcome unknown and is not sent again'],
    ],
  ),
  row(
    'secrets',
    'a token in arguments, logs, errors, ledger, archive, published files',
    'no option takes one; every sink is scrubbed by value',
    [
      [TOKEN, 'in 30 faults of reports is in no byte written: output, ledger, archive, snapshot, lake'],
      [TOKEN, 'in an answer that is loaded is not in the archive either'],
      [TOKEN, 'is in no file that a run leaves which is killed amid its faults, be it 1, 2, 3 or 4 fifths through'],
      [TOKEN, 'by %s on every path is shown by no command'],
      [TOKEN, 'or the key of the ad spend API, in refusals of ad spend, is in neither the rejects file nor the ledger'],
      [INPUT, 'a token given as an option is refused unread'],
      [INPUT, 'a token written into the file %s is not repeated'],
      [
        'unit/config-files.test.ts',
        'no form of printing a configuration shows one, and every one is scrubbed from text',
      ],
    ],
  ),
  row('wire', 'plain http, certificates that are not checked', 'loopback alone; refused; an own authority by file', [
    [INPUT, 'plain http to anything but loopback is refused, for each of the 3 addresses'],
    [INPUT, 'NODE_TLS_REJECT_UNAUTHORIZED=0 is refused'],
    [
      'integration/service-calls.test.ts',
      'is trusted by its own authority file, and without one refused at the first try',
    ],
  ]),
  row('redirects', 'a redirect or a next link to another origin', 'never followed', [
    [ANSWERS, 'a redirect is not followed and named by its origin only'],
    ['fault/service-paging.test.ts', 'that points to another origin is not followed: the token never leaves its own'],
  ]),
  row('queries', 'values in queries', 'encoded; a comma in a list value is an error', [
    [
      'integration/service-calls.test.ts',
      'is asked for with every value encoded, ISO dates and the headers of the account',
    ],
    [
      'integration/exactness.test.ts',
      'all 8 dimension filters and all 6 metric filters reach the service and come back as it answered',
    ],
    ['unit/config-problems.test.ts', 'a slice with %j is one problem: %s'],
  ]),
  row('sql', 'values and names in SQL', 'bound, or quoted in one place', [
    ['unit/statements.test.ts', 'the text %j reads back as it was'],
    ['unit/statements.test.ts', 'the name %j names one column'],
    ['integration/exactness.test.ts', 'every text dimension with its hostile names comes back byte for byte'],
  ]),
  row('paths', 'names in paths', 'built from checked names and dates, inside their root', [
    [INPUT, 'a slice name that could be a path or more than a name is refused, all ${named.length} at once'],
    ['integration/publish-lake.test.ts', 'to follow a symbolic link out of the lake'],
    ['fault/archive.test.ts', 'does not follow a link out of the archive'],
  ]),
  row(
    'terminal',
    'control characters in foreign text, the status page',
    'stripped; escaped; nothing loaded from outside',
    [
      [TOKEN, 'in the words of an error reach no terminal: --log %s holds none'],
      [
        'unit/cli-text.test.ts',
        'loses escapes, bells and marks of direction, and keeps every other character, line feeds and tabs too',
      ],
      ['unit/cli-text.test.ts', "lines of the service's own words are indented, so that they cannot pass for ours"],
      [PAGE, 'has the same tags and attributes whatever the names are: %s'],
      [PAGE, 'strips control characters and marks of direction, and scrubs secrets'],
      [PAGE, 'lets a browser load nothing but its one style sheet, by its hash, and so has no style attribute'],
      [PAGE, 'loads nothing: it has no script, no frame, no address, and its links lead into itself'],
    ],
  ),
  row('csv', 'text that a spreadsheet takes for a formula', 'defused, numbers untouched', [
    [
      'integration/publish-export.test.ts',
      'defuses the 6 beginnings of a formula in text, leaves negative numbers, NULL and empty text as they are',
    ],
  ]),
  row('yaml', 'alias bombs and code tags', 'refused', [
    [INPUT, 'code tags are refused, and an alias bomb of 10 to the 9th is not unfolded'],
    ['unit/config-text.test.ts', 'an alias bomb of a thousand million values is refused, not expanded'],
  ]),
  row('rights', 'files others could read', 'private ones 0600, copies as configured', [
    [
      INPUT,
      'under umask 000 what is private is 0600 in 0700 also while a run is under way, and copies are as configured',
    ],
    [INPUT, 'a warehouse whose directory ripen makes lies in one of 0700'],
    ['integration/spend-files.test.ts', 'the rejects file is private, and vanishes when nothing is rejected any more'],
  ]),
  row('writes', 'what is sent to the service', 'links and ad spend alone; a POST is never repeated blindly', [
    [INPUT, 'is GET alone in a sync, a backfill, a check, and every command that shows or publishes'],
    ['fault/service-writes.test.ts', '%s: sent once, SOURCE_UNAVAILABLE, outcome unknown'],
    [
      'fault/links-write.test.ts',
      'a lost answer to a creation that took place is looked up: one POST, the link returned and stored',
    ],
    ['fault/spend-outcomes.test.ts', 'of a line %s is unknown, and only resent when told'],
  ]),
];

/** `docs/faults.md`: a line for every row. */
export function faultsPage(rows: readonly FaultRow[]): string {
  const line = ({ id, what, outcome, proofs, missing }: FaultRow): string => {
    const tests = proofs.map(([file, title]) => `[${file.replace('.test.ts', '')}](../test/${file}) “${title}”`);
    const gap = missing === null ? '' : ` **Missing:** ${missing}.`;
    return `- **${id}: ${what}.** ${capitalized(outcome)}. Proven by ${tests.join('; ')}.${gap}`;
  };
  const numbered = rows.filter(({ id }) => /^\d+$/.test(id));
  const named = rows.filter(({ id }) => !/^\d+$/.test(id));
  return `# Faults and intruders

What ripen was built to withstand, what it does then (with the exit code where it is not 0), and the tests that prove it.
Made from \`test/support/faults-table.ts\` by \`npx vitest -u\`; a test holds this page, the table and the test files
against each other. \`%s\` and \`$name\` stand for the cases of a test.

## Faults

${numbered.map(line).join('\n')}

## Intruders

${named.map(line).join('\n')}
`;
}

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** Matches the title of a test that ran, its cases filled in. */
export function titlePattern(title: string): RegExp {
  const parts = title.split(/%[sdijo]|\$\{[^}]*\}|\$\w+/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
