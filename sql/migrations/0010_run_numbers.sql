-- Which run began after which: a machine's clock may be wrong. Append-only: a released migration is never edited.

alter table ripen.runs add column run_number bigint;

-- Rows are in the order they were inserted in.
update ripen.runs
set run_number = rowid + 1;

comment on column ripen.runs.run_number is 'Ascending in the order the runs began, whatever the clocks of their machines said';
