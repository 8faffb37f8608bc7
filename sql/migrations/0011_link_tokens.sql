-- What a link token tells apart: two apps may have one token. Append-only: a released migration is never edited.

comment on column main.links.token is 'Link token, unique in its app: join on app_token and token';
comment on column main.links_history.token is 'Link token, unique in its app: join on app_token and token';
comment on column ripen.staged_links.token is 'Link token, unique in its app';
comment on column ripen.staged_tree.token is 'Link token, unique in its app';
