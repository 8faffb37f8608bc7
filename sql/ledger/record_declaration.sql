-- Records what was declared; what was said under the name before is deleted with the statements that declare it.
-- $1 slice (null for several), $2 name, $3 hash of what the statements are made from, $4 hash of the tables and views as they left them
-- Returns nothing.
insert into ripen_internal.declarations by name
select
    $1 as slice,
    $2 as name,
    $3 as said,
    $4 as found
