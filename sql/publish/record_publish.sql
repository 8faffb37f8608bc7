-- Records a publish before any copy states it, so that the warehouse knows every copy of its own.
-- $1 number, $2 when it began
-- Returns nothing.
insert into ripen_internal.publishes
values ($1, $2::timestamp)
