-- Deletes the current row of every link of an app that changed or is no longer listed.
-- $1 app token
-- Returns nothing.
delete from main.links
where
    app_token = $1
    and token in (
        select token
        from (
            from main.links where app_token = $1
            except
            from ripen_internal.staged_links
        ) as gone
    )
