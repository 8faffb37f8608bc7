/** Tables of a lake whose names and comments would break careless SQL: by day, by hour and without a date. */

import { undivided, type LakeTable } from '../../src/publish/tables.ts';
import type { EngineLake } from '../../src/publish/words/engine-text.ts';

const metrics = ['cost', 'index', 'value', `o'brien "x" \`y\` \\z events`];

const daily: LakeTable = {
  ...undivided,
  name: 'order',
  comment: `It's a "slice";\n-- one row per \\day\\`,
  columns: [
    { name: 'day', type: 'DATE', comment: "The day's date" },
    { name: 'app_token', type: 'VARCHAR', comment: null },
    ...metrics.map((name, place) => ({
      name,
      type: ['DECIMAL(18,6)', 'BIGINT', 'DOUBLE', 'INTEGER'][place] ?? 'BIGINT',
      comment: `${name}: ${'é'.repeat(place * 4)}`,
    })),
    { name: '_extra', type: 'VARCHAR', comment: null },
  ],
  grain: 'day',
  dividedBy: 'day',
  metrics,
  cohorts: {
    comment: "It's long",
    columns: [
      { name: 'day', type: 'DATE', comment: "The day's date" },
      { name: 'app_token', type: 'VARCHAR', comment: null },
      { name: 'metric', type: 'VARCHAR', comment: 'Metric' },
      { name: 'age_days', type: 'INTEGER', comment: null },
      { name: 'value', type: 'DECIMAL(38,6)', comment: "A 'value'" },
      { name: 'is_final', type: 'BOOLEAN', comment: null },
    ],
    cells: [
      { slice: 'order', metric: 'cost', cohort_metric: 'cost', age_days: 0 },
      {
        slice: 'order',
        metric: `o'brien "x" \`y\` \\z events`,
        cohort_metric: `o'brien "x" \`y\` \\z`,
        age_days: 30,
      },
    ],
  },
  source: 'main."order"',
};

const hourly: LakeTable = {
  ...undivided,
  name: 'by_hour',
  columns: [
    { name: 'hour', type: 'TIMESTAMP', comment: 'Hour' },
    { name: 'year', type: 'DATE', comment: 'Year' },
    { name: 'cost', type: 'DECIMAL(18,6)', comment: 'Cost' },
  ],
  grain: 'hour',
  dividedBy: 'day',
  metrics: ['cost'],
  source: 'main."by_hour"',
};

const undated: LakeTable = {
  ...undivided,
  name: 'undated',
  comment: 'All days in one',
  columns: [
    { name: 'app_token', type: 'VARCHAR', comment: null },
    { name: 'value', type: 'BIGINT', comment: 'Value' },
  ],
  metrics: ['value'],
  source: 'main."undated"',
};

export const inBucket: EngineLake = {
  root: 's3://example-bucket/mobile/lake',
  store: {
    bucket: 'example-bucket',
    prefix: 'mobile/lake',
    endpoint: 'https://minio.example.com:9000',
    region: 'eu-central-1',
    pathStyle: true,
  },
  files: 'plain files',
  night: null,
  schema: 'lake',
  tables: [daily, hourly, undated],
};

export const onDisk: EngineLake = { ...inBucket, root: '/srv/lake', store: null };
