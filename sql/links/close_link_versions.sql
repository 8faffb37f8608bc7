-- Closes the current version of every link of an app that changed or is no longer listed.
-- $1 app token, $2 the instant
-- Returns nothing.
update main.links_history
set valid_to = $2::timestamp
where
    app_token = $1
    and valid_to is null
    and token in (
        select token
        from (
            from main.links where app_token = $1
            except
            from ripen_internal.staged_links
        ) as gone
    )
