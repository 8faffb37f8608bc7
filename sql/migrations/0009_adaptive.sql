-- What adaptive refreshes would have left out, and what that would have cost. Append-only: a released migration is never edited.

create table ripen.adaptive_refreshes (
    slice varchar not null,
    tolerance double not null,
    is_configured boolean not null,
    ages_left_out integer[] not null,
    fetches bigint not null,
    fetches_left_out bigint not null,
    rows bigint not null,
    rows_left_out bigint not null,
    totals bigint not null,
    totals_differed bigint not null,
    most_differed double
);

comment on table ripen.adaptive_refreshes is 'What refresh: adaptive would have left out of the fetches that were made, and what that would have cost, for a few tolerances';
comment on column ripen.adaptive_refreshes.slice is 'Name of the slice';
comment on column ripen.adaptive_refreshes.tolerance is 'Share of a final total that may be missed at an age that is left out';
comment on column ripen.adaptive_refreshes.is_configured is 'Whether the slice is refreshed so';
comment on column ripen.adaptive_refreshes.ages_left_out is 'Milestones that are not worth a request by what is known now, ascending';
comment on column ripen.adaptive_refreshes.fetches is 'How often a period was fetched until all of it was final';
comment on column ripen.adaptive_refreshes.fetches_left_out is 'How many of those fell on such an age, and no metric became final with them';
comment on column ripen.adaptive_refreshes.rows is 'Rows of those fetches, each counted as the period holds now';
comment on column ripen.adaptive_refreshes.rows_left_out is 'The same of the fetches left out';
comment on column ripen.adaptive_refreshes.totals is 'Totals of periods by now final that were read by a fetch left out';
comment on column ripen.adaptive_refreshes.totals_differed is 'How many of them differed from the ones that would have been held instead; final ones never do';
comment on column ripen.adaptive_refreshes.most_differed is 'By how much at most, as a share of the final total; null where none did';

comment on column ripen.projections.method is 'Mean of chain ladder and average share, or what the backtest found nearer: one of both, with the level of the newest periods, or from a lower age of the cohort';
