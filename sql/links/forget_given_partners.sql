-- Forgets which partners sub-links of an app were given: all where its lists name those of sub-links, else those of links that are
-- gone.
-- $1 app token
-- Returns nothing.
delete from ripen.given_partners
where
    app_token = $1
    and (
        token not in (select token from main.links where app_token = $1)
        or exists (
            select 1
            from ripen.staged_links
            where app_token = $1 and parent_token is not null and seen > 0 and partner_id is not null
        )
    )
