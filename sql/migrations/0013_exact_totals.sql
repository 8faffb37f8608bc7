-- What restated totals were to the last digit: decimals of a ledger's type have twelve after the point and 22 before it.
-- Append-only: a released migration is never edited.

alter table ripen.restatements add column before_text varchar;
alter table ripen.restatements add column after_text varchar;

comment on column ripen.restatements.before is 'Total over the rows of the period before the load, to 12 digits after the point; null for no value, or more than 22 digits before the point';
comment on column ripen.restatements.after is 'Total over the rows of the period after the load, to 12 digits after the point; null for no value, or more than 22 digits before the point';
comment on column ripen.restatements.before_text is 'The same as before with every digit, without zeros at its end; null for no value, and where the load was made by a version without this column';
comment on column ripen.restatements.after_text is 'The same as after with every digit, without zeros at its end; null for no value, and where the load was made by a version without this column';
