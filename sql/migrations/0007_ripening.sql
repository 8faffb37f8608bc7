-- Maturation, projections and proposed horizons come from control totals, which say of which metrics they were read.
alter table ripen.control_readings add column metrics varchar[];

comment on column ripen.control_readings.metrics is 'The metrics that were read';

drop view ripen_internal.final_fetches;
drop table ripen_internal.horizon_evidence;

comment on column ripen_internal.maturation.age_days is 'Days from the last day of the period to the control total';
comment on column ripen_internal.maturation.periods is 'Final periods with a control total of that age';

alter table ripen_internal.projections add column basis varchar;
alter table ripen_internal.projections alter column age_days drop not null;
alter table ripen_internal.projections alter column factor drop not null;
alter table ripen_internal.projections alter column factor_low drop not null;
alter table ripen_internal.projections alter column factor_high drop not null;
alter table ripen_internal.projections alter column periods drop not null;

comment on table ripen_internal.projections is 'Projections, not measurements: the factor from the loaded total of a maturing period to the final total to expect';
comment on column ripen_internal.projections.load_id is 'The load that the factor applies to; it is void once another load replaced that one';
comment on column ripen_internal.projections.basis is 'What the factor comes from, or why there is none';
comment on column ripen_internal.projections.age_days is 'Days from the last day of the period to the control total that is projected';
comment on column ripen_internal.projections.factor is 'Projected final total over the loaded total, null if history says too little';

alter table ripen.projection_errors drop column is_projected;
alter table ripen.projection_errors add column basis varchar;

comment on column ripen.projection_errors.age_days is 'Days from the last day of the period to the control total that would have been projected';
comment on column ripen.projection_errors.basis is 'What totals of that age are projected from, or why they are not: as in the views _projected';

create table ripen_internal.horizon_evidence (
    slice varchar not null,
    metric varchar not null,
    final_periods integer not null,
    final_moved integer not null,
    last_moved_day date,
    last_change_age integer,
    supported_days integer,
    supported_periods integer not null,
    supported_moved integer not null
);

comment on table ripen_internal.horizon_evidence is 'What control totals show of the horizon of each metric';
comment on column ripen_internal.horizon_evidence.slice is 'Name of the slice';
comment on column ripen_internal.horizon_evidence.metric is 'Name of the metric';
comment on column ripen_internal.horizon_evidence.final_periods is 'Periods whose total was read again after it was final';
comment on column ripen_internal.horizon_evidence.final_moved is 'Those whose total had changed';
comment on column ripen_internal.horizon_evidence.last_moved_day is 'The day on which such a change was last found, null if there was none';
comment on column ripen_internal.horizon_evidence.last_change_age is 'Highest age in days at which any total had changed, null if none did';
comment on column ripen_internal.horizon_evidence.supported_days is 'The horizon that the history supports, null if it supports none';
comment on column ripen_internal.horizon_evidence.supported_periods is 'Periods that were read long enough to tell';
comment on column ripen_internal.horizon_evidence.supported_moved is 'Those whose total changed after that horizon';

create view ripen_internal.maturing as
select
    p.slice,
    p.start_day as period,
    m.metric,
    p.load_id,
    floor(epoch(coalesce(p.computed_at, p.fetched_at) - p.ends_at) / 86400)::integer + 1 as age_days,
    case
        when p.state = 'open' then 'not over'
        when not p.whole then 'cut'
        when m.horizon_seconds is null then 'never final'
        when not m.additive then 'does not add up'
        when t.control is null then 'no control totals'
    end as basis
from ripen.periods as p
join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age
join ripen.finality as f on f.slice = p.slice and f.period = p.start_day and f.metric = m.metric
where not f.is_final;

comment on view ripen_internal.maturing is 'The loaded values that are not final';
comment on column ripen_internal.maturing.slice is 'Name of the slice';
comment on column ripen_internal.maturing.period is 'First day of the period';
comment on column ripen_internal.maturing.metric is 'Name of the metric';
comment on column ripen_internal.maturing.load_id is 'The newest load of the period';
comment on column ripen_internal.maturing.age_days is 'Days from the last day of the period to that load';
comment on column ripen_internal.maturing.basis is 'Why its final total is never projected, null if it may be';
