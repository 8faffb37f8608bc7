-- What every column of the ledger means, for whoever opens it. The ones that need more words have them where they are made.

comment on table ripen.migrations is 'Which migrations made this ledger';

comment on column ripen.runs.run_id is 'Unique id of the run';
comment on column ripen.runs.command is 'sync, backfill or replay';
comment on column ripen.runs.started_at is 'When it began (UTC)';
comment on column ripen.runs.finished_at is 'When it ended (UTC), null while it runs, and after a kill';
comment on column ripen.runs.exit_code is 'What the process returned, null while it runs';
comment on column ripen.runs.version is 'Version of the program';
comment on column ripen.runs.host is 'Name of the machine';
comment on column ripen.runs.pid is 'Process id on that machine';
comment on column ripen.runs.summary is 'The summary as printed by --json';

comment on column ripen.slice_tables.slice is 'Name of the slice';
comment on column ripen.slice_tables.table_name is 'Quoted name of the table, with its schema';
comment on column ripen.slice_tables.created_at is 'When the table was made (UTC)';
comment on column ripen.slice_tables.live_at is 'When it became the one readers see (UTC), null before';

comment on column ripen.slice_metrics.slice is 'Name of the slice';
comment on column ripen.slice_metrics.metric is 'Name of the metric as the service has it';
comment on column ripen.slice_metrics.position is 'Place among the slice''s metrics, from 0';
comment on column ripen.slice_metrics.type is 'SQL type of the column';
comment on column ripen.slice_metrics.family is 'Which horizon rule applies';
comment on column ripen.slice_metrics.additive is 'Whether values add up over rows';
comment on column ripen.slice_metrics.settle_seconds is 'What is added to every horizon';

comment on column ripen.loads.load_id is 'Unique id of the load, the rows carry it as _load_id';
comment on column ripen.loads.run_id is 'The run it belongs to';
comment on column ripen.loads.slice is 'Name of the slice';
comment on column ripen.loads.fingerprint is 'The meaning its rows have';
comment on column ripen.loads.start_day is 'First day that was asked for';
comment on column ripen.loads.parameters is 'The query parameters that were sent';
comment on column ripen.loads.requests is 'Requests that answered it';
comment on column ripen.loads.bytes is 'Bytes received, as they came';
comment on column ripen.loads.rows_fetched is 'Rows the service sent';
comment on column ripen.loads.rows_loaded is 'Rows that were stored';
comment on column ripen.loads.rows_rejected is 'Rows that could not be stored exactly';
comment on column ripen.loads.requested_at is 'When the window was asked for (UTC)';
comment on column ripen.loads.received_at is 'When its last answer was complete (UTC)';
comment on column ripen.loads.loaded_at is 'When it became visible (UTC)';

comment on column ripen.periods.slice is 'Name of the slice';
comment on column ripen.periods.fingerprint is 'The meaning its rows have';
comment on column ripen.periods.start_day is 'First day of the calendar bucket';
comment on column ripen.periods.load_id is 'The newest load of the period';
comment on column ripen.periods.rows is 'Rows the newest load brought';
comment on column ripen.periods.rejected is 'Rows of the period that the newest load had to leave out, it stays due while there are any';

comment on column ripen.restatements.slice is 'Name of the slice';
comment on column ripen.restatements.metric is 'Name of the metric';
comment on column ripen.restatements.before is 'Total over the rows of the period before the load, null for no value';
comment on column ripen.restatements.after is 'Total over the rows of the period after the load, null for no value';
comment on column ripen.restatements.load_id is 'The load that changed it';

comment on column ripen.rejected_rows.run_id is 'The run that met it';
comment on column ripen.rejected_rows.slice is 'Name of the slice';
comment on column ripen.rejected_rows.start_day is 'First day of the window';
comment on column ripen.rejected_rows.end_day is 'Exclusive';
comment on column ripen.rejected_rows.reason is 'Metric, what is wrong, and the text itself';
comment on column ripen.rejected_rows."row" is 'The row as the service sent it';
comment on column ripen.rejected_rows.seen_at is 'When it was met (UTC)';

comment on column ripen.warnings.run_id is 'The run that met it';
comment on column ripen.warnings.slice is 'Name of the slice, null when it concerns the whole run';
comment on column ripen.warnings.start_day is 'First day of the window, if one is concerned';
comment on column ripen.warnings.end_day is 'Exclusive';
comment on column ripen.warnings.code is 'Stable, to look for';
comment on column ripen.warnings.message is 'What was odd';
comment on column ripen.warnings.seen_at is 'When it was met (UTC)';

comment on column ripen.schema_changes.run_id is 'The run that made or met it';
comment on column ripen.schema_changes.object is 'Name of the slice, or catalog';
comment on column ripen.schema_changes.name is 'Column or item, null when the whole object is concerned';
comment on column ripen.schema_changes.change is 'What happened';
comment on column ripen.schema_changes.before is 'Type, fingerprint or text before';
comment on column ripen.schema_changes.after is 'Type, fingerprint or text after';
comment on column ripen.schema_changes.seen_at is 'When (UTC)';

comment on column ripen.catalog.filter is 'The filter name it was listed under';
comment on column ripen.catalog.id is 'What to use in requests';
comment on column ripen.catalog.name is 'Readable name';
comment on column ripen.catalog.short_name is 'Abbreviated name, may be empty';
comment on column ripen.catalog.section is 'Section the service puts it in';
comment on column ripen.catalog.formatting is 'integer, money, decimal, percent and others';
comment on column ripen.catalog.description is 'What it means, as the service says it';
comment on column ripen.catalog.seen_at is 'When it was fetched (UTC)';

comment on column ripen.finality.slice is 'Name of the slice';
comment on column ripen.finality.metric is 'Name of the metric';
comment on column ripen.finality.fetched_at is 'When the stored value was asked for (UTC)';

comment on column ripen.migrations.version is 'Number of the migration';
comment on column ripen.migrations.name is 'Its file';
comment on column ripen.migrations.applied_at is 'When it was applied (UTC)';
