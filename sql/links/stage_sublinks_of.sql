-- Notes on a staged link that it has sub-links.
-- $1 app token, $2 token of the link
-- Returns nothing.
update ripen.staged_links
set has_subtrackers = true
where app_token = $1 and token = $2
