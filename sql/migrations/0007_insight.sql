-- How values ripen: what past fetches found, what that lets expect, how well it would have done, and whether final is final.
-- Instants are TIMESTAMP in UTC. Append-only: a released migration is never edited.

alter table ripen.loads add column known_at timestamp;

update ripen.loads
set known_at = least(
    requested_at,
    coalesce((select r.as_of from ripen.runs as r where r.run_id = ripen.loads.run_id), requested_at)
);

comment on column ripen.loads.known_at is 'The instant that counts as the fetch in every finality decision (UTC): when it was asked for, or the as-of instant it was asked under';

alter table ripen.restatements add column after_final boolean;

update ripen.restatements set after_final = false;

comment on column ripen.restatements.after_final is 'Whether the total was final before it changed: then its horizon was too short';

create table ripen.maturation (
    slice varchar not null,
    metric varchar not null,
    age_days integer not null,
    periods integer not null,
    share_q25 double not null,
    share_median double not null,
    share_q75 double not null
);

comment on table ripen.maturation is 'How much of the final total of a period was known at each age, over periods that are final by now';
comment on column ripen.maturation.slice is 'Name of the slice';
comment on column ripen.maturation.metric is 'Name of the metric';
comment on column ripen.maturation.age_days is 'Days from the last day of the period to the fetch';
comment on column ripen.maturation.periods is 'Final periods that were fetched at that age';
comment on column ripen.maturation.share_q25 is 'Total at that age over the final total: a quarter of the periods had less';
comment on column ripen.maturation.share_median is 'Total at that age over the final total: half of the periods had less';
comment on column ripen.maturation.share_q75 is 'Total at that age over the final total: three quarters of the periods had less';

create table ripen.projections (
    slice varchar not null,
    metric varchar not null,
    period date not null,
    load_id bigint not null,
    age_days integer not null,
    method varchar not null,
    factor double not null,
    factor_low double not null,
    factor_high double not null,
    periods integer not null
);

comment on table ripen.projections is 'Projections, not measurements: by what the total of a maturing period is to be multiplied to expect its final total';
comment on column ripen.projections.slice is 'Name of the slice';
comment on column ripen.projections.metric is 'Name of the metric';
comment on column ripen.projections.period is 'First day of the period';
comment on column ripen.projections.load_id is 'The load the projection was made from, once another one replaced it the projection is void';
comment on column ripen.projections.age_days is 'Days from the last day of the period to the fetch';
comment on column ripen.projections.method is 'Chain ladder, or what the backtest found nearer: with the level of the newest periods, or from a lower age of the cohort';
comment on column ripen.projections.factor is 'Projected final total over the total as it is';
comment on column ripen.projections.factor_low is 'The same for the lower end of the 80 % interval';
comment on column ripen.projections.factor_high is 'The same for the upper end of the 80 % interval';
comment on column ripen.projections.periods is 'The fewest periods that any factor of the ladder rests on';

create table ripen.projection_errors (
    slice varchar not null,
    metric varchar not null,
    age_days integer not null,
    cohorts integer not null,
    median_abs_error double,
    median_abs_error_as_is double,
    median_abs_error_average_share double,
    coverage double,
    method varchar,
    reason varchar
);

comment on table ripen.projection_errors is 'The backtest: what would have been projected in the past from what was known then, against what became final';
comment on column ripen.projection_errors.slice is 'Name of the slice';
comment on column ripen.projection_errors.metric is 'Name of the metric';
comment on column ripen.projection_errors.age_days is 'Days from the last day of the period to the fetch it would have been projected from';
comment on column ripen.projection_errors.cohorts is 'Periods that were judged';
comment on column ripen.projection_errors.median_abs_error is 'Median distance of the projected from the final total, as a share of it';
comment on column ripen.projection_errors.median_abs_error_as_is is 'The same of the total as it was';
comment on column ripen.projection_errors.median_abs_error_average_share is 'The same of the total as it was, divided by the average share known at that age';
comment on column ripen.projection_errors.coverage is 'Share of the final totals that lay inside the 80 % interval';
comment on column ripen.projection_errors.method is 'How the metric is projected at that age, null where it is not';
comment on column ripen.projection_errors.reason is 'Why the metric is not projected at that age, null where it is';

create table ripen.audits (
    slice varchar not null,
    start_day date not null,
    end_day date not null,
    audited_at timestamp not null,
    periods integer not null,
    cells integer not null,
    changed integer not null,
    seed varchar not null,
    load_id bigint not null
);

comment on table ripen.audits is 'Windows of final cells that were asked for again, to measure that final is final';
comment on column ripen.audits.slice is 'Name of the slice';
comment on column ripen.audits.start_day is 'First day of the window';
comment on column ripen.audits.end_day is 'Exclusive';
comment on column ripen.audits.audited_at is 'The instant that counts as the fetch (UTC)';
comment on column ripen.audits.periods is 'Periods of the window';
comment on column ripen.audits.cells is 'Final cells (period and additive metric) that were compared';
comment on column ripen.audits.changed is 'How many of them had changed';
comment on column ripen.audits.seed is 'What the window was drawn with, so that the draw can be repeated';
comment on column ripen.audits.load_id is 'The load that answered';

create table ripen.horizon_evidence (
    slice varchar not null,
    metric varchar not null,
    horizon_days double not null,
    looks integer not null,
    changed integer not null,
    changed_after_final integer not null,
    proposed_days integer
);

comment on table ripen.horizon_evidence is 'What repeated fetches say of each horizon, looks are pairs of fetches of one period that follow each other';
comment on column ripen.horizon_evidence.slice is 'Name of the slice';
comment on column ripen.horizon_evidence.metric is 'Name of the metric';
comment on column ripen.horizon_evidence.horizon_days is 'The horizon as configured or derived';
comment on column ripen.horizon_evidence.looks is 'Pairs of fetches that were compared';
comment on column ripen.horizon_evidence.changed is 'How many of them found another total';
comment on column ripen.horizon_evidence.changed_after_final is 'How many of those were final before';
comment on column ripen.horizon_evidence.proposed_days is 'A horizon that holds in all that was seen, null where the present one is right';
