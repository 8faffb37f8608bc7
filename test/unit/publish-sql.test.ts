import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { exportStatement, formatOf } from '../../src/publish/export-sql.ts';
import { copyPeriod, finalView, lakeView, summarizePeriods } from '../../src/publish/lake-sql.ts';
import { isMetric, plainType, type LakeTable } from '../../src/publish/lake-table.ts';

const hours: LakeTable = {
  name: 'app_hourly',
  comment: "an app's hours",
  columns: [
    { name: 'hour', type: 'TIMESTAMP', comment: null },
    { name: 'app "x"', type: 'VARCHAR', comment: 'App' },
    { name: 'installs', type: 'BIGINT', comment: null },
  ],
  grain: 'hour',
  key: 'day',
  summed: ['installs'],
  metrics: ['installs'],
  source: 'main."app_hourly"',
  isLoaded: false,
  slice: null,
};

const plain: LakeTable = { ...hours, metrics: [] };
const days: LakeTable = { ...plain, columns: [{ name: 'day', type: 'DATE', comment: null }], grain: 'day' };

describe('types in the lake', () => {
  test.each([
    ['BIGINT', 'BIGINT'],
    ['DECIMAL(38,12)', 'DECIMAL(38,12)'],
    ['DATE', 'DATE'],
    ['TIMESTAMP', 'TIMESTAMP'],
    ['HUGEINT', 'DECIMAL(38,0)'],
    ['JSON', 'VARCHAR'],
    ['VARCHAR[]', 'VARCHAR'],
    ['UBIGINT', 'VARCHAR'],
  ])('%s is kept as %s', (type, plain) => {
    expect(plainType(type)).toBe(plain);
  });
});

describe('statements of the lake', () => {
  test('the rows of a day of hours are chosen by the bare column, half-open', () => {
    expect(copyPeriod(hours, day('2026-02-28'), "/l'ake/x")).toBe(`copy (
select
    cast("hour" as TIMESTAMP) as "hour",
    cast("app ""x""" as VARCHAR) as "app ""x""",
    cast("installs" as BIGINT) as "installs"
from main."app_hourly"
where "hour" >= TIMESTAMP '2026-02-28' and "hour" < TIMESTAMP '2026-03-01'
) to '/l''ake/x' (format parquet, compression zstd)`);
  });

  test('hours are summed up by day, of some days where the others are known', () => {
    const some = summarizePeriods(hours, [day('2026-02-28'), day('2026-03-02')]);
    expect(some).toContain(`from main."app_hourly"
where ("hour" >= TIMESTAMP '2026-02-28' and "hour" < TIMESTAMP '2026-03-01') or ("hour" >= TIMESTAMP '2026-03-02'`);
    expect(summarizePeriods(hours, [])).toBe(`select
    cast("hour" as DATE)::varchar as period,
    count(*)::varchar as rows,
    coalesce(sum(hash(hash("hour", "app ""x""", "installs"))), 0)::varchar as content,
    [sum("installs")::varchar]::varchar[] as sums
from main."app_hourly"
group by cast("hour" as DATE)
order by cast("hour" as DATE)`);
  });

  test('the final view of a slice shows a cell where the finality of its day says so', () => {
    expect(finalView(hours)).toEqual([
      `create or replace view main."app_hourly_final" as
select
    s."hour",
    s."app ""x""",
    case when f.m0 = 1 then s."installs" end as "installs"
from main."app_hourly" as s
left join (
    select
        "period",
        max(case when "metric" = 'installs' then 1 end) as m0
    from main."ripen_finality"
    where "slice" = 'app_hourly' and "is_final"
    group by "period"
) as f on f."period" = cast(s."hour" as date)`,
      `comment on view main."app_hourly_final" is 'an app''s hours Cells that are not final are NULL.'`,
      `comment on column main."app_hourly_final"."app ""x""" is 'App'`,
    ]);
  });

  test('a view reads its files, and says what they hold', () => {
    const [view = '', ...comments] = lakeView("/la*ke'", plain, 'main');
    expect(view).toContain(`from read_parquet('/la[*]ke''/app_hourly/day=*/data.parquet', hive_partitioning = false)`);
    expect(comments).toEqual([
      `comment on view "main"."app_hourly" is 'an app''s hours'`,
      `comment on column "main"."app_hourly"."app ""x""" is 'App'`,
    ]);
  });

  test('the date of a row is that of the last folder, by a path no column can hide', () => {
    const date = (path: string): string => `cast(regexp_extract("${path}", '/day=([^/]*)/[^/]*$', 1) as DATE) as "day"`;
    const [view = ''] = lakeView('/a', days, 'main');
    expect(view).toContain(date('filename'));
    expect(view).toContain("hive_partitioning = false, filename = 'filename')");
    const hidden = { ...days, columns: [...days.columns, { name: 'FileName', type: 'BIGINT', comment: null }] };
    const [other = ''] = lakeView('/a', hidden, 'main');
    expect(other).toContain(date('file,path'));
    expect(other).toContain(`filename = 'file,path')`);
  });
});

describe('statements of an export', () => {
  test.each([
    ['a.csv', 'csv'],
    ['a.b.PARQUET', 'parquet'],
    ['a.jsonl', 'ndjson'],
    ['a.xlsx', null],
    ['csv', null],
  ])('%s is written as %s', (path, format) => {
    expect(formatOf(path)).toBe(format);
  });

  test('only text is defused, and only in CSV; a heading too', () => {
    const columns = [
      { name: 'day', type: 'DATE' },
      { name: '=name', type: 'VARCHAR' },
      { name: 'cost', type: 'DECIMAL(18,6)' },
    ];
    const days = { from: null, to: day('2026-01-31') };
    const csv = exportStatement('x', columns, days, {
      path: '/o.csv',
      format: 'csv',
      compressed: false,
      defused: true,
    });
    expect(csv.match(/regexp_matches/g)).toHaveLength(1);
    expect(csv).toContain(`as "'=name"`);
    expect(csv).toContain(`where s."day" < DATE '2026-02-01'\norder by s."day", s."=name", 1`);
    expect(
      exportStatement('x', columns, days, { path: '/o', format: 'ndjson', compressed: false, defused: true }),
    ).not.toContain('regexp_matches');
  });
});

test('a column is a metric by its type, whatever the catalog calls it, and never one of our own', () => {
  const columns = [
    { name: 'day', type: 'DATE' },
    { name: 'sdk_version', type: 'VARCHAR' },
    { name: '_odd', type: 'BIGINT' },
    { name: 'region', type: 'DECIMAL(18,6)' },
    { name: 'share', type: 'DOUBLE' },
    { name: 'attr_dependency', type: 'VARCHAR' },
    { name: '_load_id', type: 'BIGINT' },
  ];
  expect(columns.filter(isMetric).map(({ name }) => name)).toEqual(['_odd', 'region', 'share']);
});
