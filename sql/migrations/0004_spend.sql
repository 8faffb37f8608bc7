-- Ad spend: what became of every Cost ID that was ever sent. Instants are TIMESTAMP in UTC. Append-only: a released
-- migration is never edited.

create table ripen.spend (
    cost_id varchar primary key,
    cost_type varchar not null,
    cost_currency varchar not null,
    cost_amount varchar not null,
    tag varchar not null,
    engaged_at varchar,
    content varchar not null,
    outcome varchar not null,
    outcome_before varchar,
    status integer,
    reason varchar,
    file varchar not null,
    line bigint not null,
    sent_at timestamp not null,
    settled_at timestamp
);

comment on table ripen.spend is 'Ad spend that was sent, one row per Cost ID, and what became of it';
comment on column ripen.spend.cost_id is 'Cost ID, by which the service matches the spend to a click or impression';
comment on column ripen.spend.cost_type is 'Pricing model as it was sent, such as cpc or cpi';
comment on column ripen.spend.cost_currency is 'ISO 4217 currency code';
comment on column ripen.spend.cost_amount is 'The amount, in the exact text that was sent';
comment on column ripen.spend.tag is 'The label that was sent for logging and debugging';
comment on column ripen.spend.engaged_at is 'When the engagement was, as the file said, NULL when it did not, never sent';
comment on column ripen.spend.content is 'Hash of cost type, currency, amount by value and tag, to recognise the same line again';
comment on column ripen.spend.outcome is 'sending, accepted, rejected or unknown, where sending without a live run means unknown';
comment on column ripen.spend.outcome_before is 'The outcome before it was last sent, NULL when that was the first time';
comment on column ripen.spend.status is 'HTTP status of a rejection';
comment on column ripen.spend.reason is 'Why it was rejected, or why its outcome is unknown';
comment on column ripen.spend.file is 'The file it was last sent from';
comment on column ripen.spend.line is 'The line of that file, the first being 1';
comment on column ripen.spend.sent_at is 'When it was last about to be sent (UTC)';
comment on column ripen.spend.settled_at is 'When the outcome was recorded (UTC)';
