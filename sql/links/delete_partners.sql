-- Deletes the current row of every partner that changed or is gone.
-- Returns nothing.
delete from main.partners
where partner_id in (
    select partner_id
    from (
        from main.partners
        except
        from ripen_internal.staged_partners
    ) as gone
)
