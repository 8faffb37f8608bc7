-- The apps that have links in the warehouse.
-- Returns app_token.
select distinct app_token
from main.links
order by app_token
