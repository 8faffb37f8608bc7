-- Which warehouse this is, so that no warehouse replaces the copies of another. Append-only: a released migration is never
-- edited.

create table ripen.warehouse_identity (
    id uuid not null
);

comment on table ripen.warehouse_identity is 'Which warehouse this is, one row; every published copy states it';
comment on column ripen.warehouse_identity.id is 'Made with the warehouse, or when it first met this migration, and never changed';

insert into ripen.warehouse_identity
select uuid() as id;
