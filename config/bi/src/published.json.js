/** Every query of the folder `published`, put to one and the same night of the snapshot; the answers as JSON. */

import { readdirSync, readFileSync } from 'node:fs';

import { DuckDBInstance } from '@duckdb/node-api';

const queries = new URL('published/', import.meta.url);
const snapshot = process.env.RIPEN_SNAPSHOT ?? '../../data/analytics.duckdb';

const instance = await DuckDBInstance.create(snapshot, { access_mode: 'READ_ONLY' });
const connection = await instance.connect();
const answers = {};
for (const file of readdirSync(queries).sort()) {
  const answer = await connection.runAndReadAll(readFileSync(new URL(file, queries), 'utf8'));
  answers[file.replace('.sql', '')] = answer.getRowObjectsJson();
}
process.stdout.write(JSON.stringify(answers));
connection.closeSync();
instance.closeSync();
