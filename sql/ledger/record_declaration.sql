-- Records what was declared; the declaration stored under this name is deleted by the statements that declare it again.
-- $1 slice (null for several), $2 name, $3 hash of what the statements are made from, $4 hash of the tables and views as they left them
-- Returns nothing.
insert into ripen_internal.declarations by name
select
    $1 as slice,
    $2 as name,
    $3 as hash,
    $4 as found
