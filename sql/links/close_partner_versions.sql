-- Closes the current version of every partner that changed or is gone.
-- $1 the instant
-- Returns nothing.
update main.partners_history
set valid_to = $1::timestamp
where
    valid_to is null
    and partner_id in (
        select partner_id
        from (
            from main.partners
            except
            from ripen_internal.staged_partners
        ) as gone
    )
