-- What views and comments were last made from, so that a run makes only those again that changed or were lost. Append-only: a
-- released migration is never edited.

create table ripen.declarations (
    slice varchar,
    name varchar not null,
    said varchar not null,
    found varchar not null
);

comment on table ripen.declarations is 'What the views and comments of the warehouse were last made from, so that only what changed or was lost is made again';
comment on column ripen.declarations.slice is 'Name of the slice they are about, null for several';
comment on column ripen.declarations.name is 'What was declared, each once';
comment on column ripen.declarations.said is 'Hash of what the statements are made from';
comment on column ripen.declarations.found is 'Hash of the tables and views as the statements left them';
