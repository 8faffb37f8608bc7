-- Numbers the publishes, so that a copy of a state that the warehouse no longer has is recognized.
create table ripen_internal.publishes (
    number bigint not null,
    published_at timestamp not null,
    copies varchar []
);

comment on table ripen_internal.publishes is 'One row per publish; every copy states the one it is of';
comment on column ripen_internal.publishes.number is 'Counts the publishes of this warehouse';
comment on column ripen_internal.publishes.published_at is 'When it began (UTC)';
comment on column ripen_internal.publishes.copies is 'Paths of the copies that it wrote; null if it wrote none or is not over, as in the copy itself';
