-- Forgets the links that are staged for an app.
-- $1 app token
-- Returns nothing.
delete from ripen.staged_links
where app_token = $1
