-- Forgets the tree that was made of an app's staged links.
-- $1 app token
-- Returns nothing.
delete from ripen.staged_tree
where app_token = $1
