-- Deletes the control totals of meanings that no slice has any longer, such as earlier ones of the dropped slice.
-- $1 the day before which they are deleted; null for all of them
-- Returns nothing.
delete from ripen.control_totals
where
    control not in (select control from ripen.slice_tables where control is not null)
    -- A slice without a name, as after a night without control totals, may have had any of them.
    and not exists (select 1 from ripen.slice_tables where control is null and state in ('live', 'building'))
    and ($1::date is null or starts_at < $1::date)
