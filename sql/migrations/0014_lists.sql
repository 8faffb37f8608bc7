-- What lists of links and partners lacked, and the partners that sub-links were given.
-- Append-only: a released migration is never edited.

create table ripen.unlisted_items (
    subject varchar not null,
    item varchar not null,
    list_was_empty boolean not null,
    seen_at timestamp not null
);

comment on table ripen.unlisted_items is 'Stored links and partners that a list lacked which was not believed: what a list of a later night lacks, too, is gone';
comment on column ripen.unlisted_items.subject is 'links of an app, by its token, or partners';
comment on column ripen.unlisted_items.item is 'Token of the link, or id of the partner';
comment on column ripen.unlisted_items.list_was_empty is 'Whether the list that should hold it held nothing';
comment on column ripen.unlisted_items.seen_at is 'The as-of instant of the first sync that missed it so (UTC)';

create table ripen.short_lists (
    subject varchar not null,
    list varchar not null,
    lacking bigint not null
);

comment on table ripen.short_lists is 'Lists of links and partners that held fewer items than they said when they were believed last';
comment on column ripen.short_lists.subject is 'links of an app, by its token, or partners';
comment on column ripen.short_lists.list is 'Token of the link whose sub-links it lists; empty for that of the networks, or of the partners';
comment on column ripen.short_lists.lacking is 'How many items it held fewer than it said';

create table ripen.given_partners (
    app_token varchar not null,
    token varchar not null,
    partner_id varchar not null
);

comment on table ripen.given_partners is 'Partners that sub-links were given by `ripen links update`, which lists do not show';
comment on column ripen.given_partners.app_token is 'The app';
comment on column ripen.given_partners.token is 'The sub-link';
comment on column ripen.given_partners.partner_id is 'Its partner';
