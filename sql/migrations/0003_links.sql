-- Partners and links as last listed, and every version of them. Instants are TIMESTAMP in UTC, intervals half-open. The
-- staged tables are empty between runs. Append-only: a released migration is never edited.

create table main.partners (
    partner_id varchar not null,
    display_name varchar not null,
    supports_cost_data boolean,
    is_listed boolean not null
);

comment on table main.partners is 'Partners as last listed, and those that only loaded reports carry';
comment on column main.partners.partner_id is 'Partner id, an integer where the service lists the partner';
comment on column main.partners.display_name is 'Name of the partner';
comment on column main.partners.supports_cost_data is 'Whether the partner supports cost data, NULL when it is not listed';
comment on column main.partners.is_listed is 'Whether the partner list holds it, false for those only reports carry, such as organic traffic';

create table main.partners_history (
    partner_id varchar not null,
    display_name varchar not null,
    supports_cost_data boolean,
    is_listed boolean not null,
    valid_from timestamp not null,
    valid_to timestamp
);

comment on table main.partners_history is 'Every version of every partner';
comment on column main.partners_history.partner_id is 'Partner id, an integer where the service lists the partner';
comment on column main.partners_history.display_name is 'Name of the partner';
comment on column main.partners_history.supports_cost_data is 'Whether the partner supports cost data, NULL when it is not listed';
comment on column main.partners_history.is_listed is 'Whether the partner list holds it, false for those only reports carry, such as organic traffic';
comment on column main.partners_history.valid_from is 'The as-of instant this version was first seen at (UTC)';
comment on column main.partners_history.valid_to is 'The as-of instant it was last replaced or gone at, exclusive (UTC), NULL while current';

create table main.links (
    token varchar not null,
    app_token varchar not null,
    parent_token varchar,
    root_token varchar not null,
    level integer not null,
    name varchar not null,
    label varchar not null,
    archived boolean not null,
    has_subtrackers boolean not null,
    partner_id varchar,
    inherited_partner_id varchar,
    cost_data_enabled boolean not null,
    url varchar,
    click_url varchar,
    impression_url varchar,
    network_name varchar not null,
    campaign_name varchar,
    adgroup_name varchar,
    creative_name varchar
);

comment on table main.links is 'Links as last listed, one row per link of every level';
comment on column main.links.token is 'Link token, unique in the account';
comment on column main.links.app_token is 'The app the link belongs to';
comment on column main.links.parent_token is 'The link above, NULL for a network';
comment on column main.links.root_token is 'The network at the top of the path, itself for a network';
comment on column main.links.level is '1 network, 2 campaign, 3 ad group, 4 creative';
comment on column main.links.name is 'The labels of the path, joined by the service with ::';
comment on column main.links.label is 'The name given at creation';
comment on column main.links.archived is 'Whether the link is archived';
comment on column main.links.has_subtrackers is 'Whether the link has sub-links';
comment on column main.links.partner_id is 'The partner as the service lists it, NULL on sub-links';
comment on column main.links.inherited_partner_id is 'The partner of the nearest link above that has one, NULL for a network';
comment on column main.links.cost_data_enabled is 'Whether ad cost data is enabled';
comment on column main.links.url is 'Link URL, byte for byte';
comment on column main.links.click_url is 'Click URL with its placeholders, byte for byte';
comment on column main.links.impression_url is 'Impression URL with its placeholders, byte for byte';
comment on column main.links.network_name is 'Label of the network in the path of the link';
comment on column main.links.campaign_name is 'Label of the campaign in the path, NULL above it';
comment on column main.links.adgroup_name is 'Label of the ad group in the path, NULL above it';
comment on column main.links.creative_name is 'Label of the creative in the path, NULL above it';

create table main.links_history (
    token varchar not null,
    app_token varchar not null,
    parent_token varchar,
    root_token varchar not null,
    level integer not null,
    name varchar not null,
    label varchar not null,
    archived boolean not null,
    has_subtrackers boolean not null,
    partner_id varchar,
    inherited_partner_id varchar,
    cost_data_enabled boolean not null,
    url varchar,
    click_url varchar,
    impression_url varchar,
    network_name varchar not null,
    campaign_name varchar,
    adgroup_name varchar,
    creative_name varchar,
    valid_from timestamp not null,
    valid_to timestamp
);

comment on table main.links_history is 'Every version of every link, the names of its path included';
comment on column main.links_history.token is 'Link token, unique in the account';
comment on column main.links_history.app_token is 'The app the link belongs to';
comment on column main.links_history.parent_token is 'The link above, NULL for a network';
comment on column main.links_history.root_token is 'The network at the top of the path, itself for a network';
comment on column main.links_history.level is '1 network, 2 campaign, 3 ad group, 4 creative';
comment on column main.links_history.name is 'The labels of the path, joined by the service with ::';
comment on column main.links_history.label is 'The name given at creation';
comment on column main.links_history.archived is 'Whether the link is archived';
comment on column main.links_history.has_subtrackers is 'Whether the link has sub-links';
comment on column main.links_history.partner_id is 'The partner as the service lists it, NULL on sub-links';
comment on column main.links_history.inherited_partner_id is 'The partner of the nearest link above that has one, NULL for a network';
comment on column main.links_history.cost_data_enabled is 'Whether ad cost data is enabled';
comment on column main.links_history.url is 'Link URL, byte for byte';
comment on column main.links_history.click_url is 'Click URL with its placeholders, byte for byte';
comment on column main.links_history.impression_url is 'Impression URL with its placeholders, byte for byte';
comment on column main.links_history.network_name is 'Label of the network in the path of the link';
comment on column main.links_history.campaign_name is 'Label of the campaign in the path, NULL above it';
comment on column main.links_history.adgroup_name is 'Label of the ad group in the path, NULL above it';
comment on column main.links_history.creative_name is 'Label of the creative in the path, NULL above it';
comment on column main.links_history.valid_from is 'The as-of instant this version was first seen at (UTC)';
comment on column main.links_history.valid_to is 'The as-of instant it was last replaced or gone at, exclusive (UTC), NULL while current';

create table ripen.link_crawls (
    app_token varchar not null,
    crawled_at timestamp not null,
    max_level integer not null,
    links bigint not null,
    removed bigint not null,
    requests bigint not null,
    run_id varchar not null
);

comment on table ripen.link_crawls is 'One row per complete crawl of the links of an app';
comment on column ripen.link_crawls.app_token is 'The app';
comment on column ripen.link_crawls.crawled_at is 'The as-of instant of the crawl (UTC)';
comment on column ripen.link_crawls.max_level is 'The deepest level that was asked for';
comment on column ripen.link_crawls.links is 'Links the app had';
comment on column ripen.link_crawls.removed is 'Links that were there before and are no longer listed';
comment on column ripen.link_crawls.requests is 'Pages that were asked for, repetitions after an error not counted';
comment on column ripen.link_crawls.run_id is 'The run that crawled';

create table ripen.staged_partners (
    partner_id varchar not null,
    display_name varchar not null,
    supports_cost_data boolean,
    is_listed boolean not null
);

comment on table ripen.staged_partners is 'The partners a refresh is about to put in place';
comment on column ripen.staged_partners.partner_id is 'Partner id, an integer where the service lists the partner';
comment on column ripen.staged_partners.display_name is 'Name of the partner';
comment on column ripen.staged_partners.supports_cost_data is 'Whether the partner supports cost data, NULL when it is not listed';
comment on column ripen.staged_partners.is_listed is 'Whether the partner list holds it, false for those only reports carry, such as organic traffic';

create table ripen.staged_links (
    token varchar not null,
    app_token varchar not null,
    parent_token varchar,
    level integer not null,
    name varchar not null,
    label varchar not null,
    archived boolean not null,
    has_subtrackers boolean not null,
    partner_id varchar,
    cost_data_enabled boolean not null,
    url varchar,
    click_url varchar,
    impression_url varchar,
    seen bigint not null
);

comment on table ripen.staged_links is 'Listed links of apps whose crawl is not complete yet, one row per listing';
comment on column ripen.staged_links.token is 'Link token, unique in the account';
comment on column ripen.staged_links.app_token is 'The app the link belongs to';
comment on column ripen.staged_links.parent_token is 'The link above, NULL for a network';
comment on column ripen.staged_links.level is '1 network, 2 campaign, 3 ad group, 4 creative';
comment on column ripen.staged_links.name is 'The labels of the path, joined by the service with ::';
comment on column ripen.staged_links.label is 'The name given at creation';
comment on column ripen.staged_links.archived is 'Whether the link is archived';
comment on column ripen.staged_links.has_subtrackers is 'Whether the link has sub-links';
comment on column ripen.staged_links.partner_id is 'The partner as the service lists it, NULL on sub-links';
comment on column ripen.staged_links.cost_data_enabled is 'Whether ad cost data is enabled';
comment on column ripen.staged_links.url is 'Link URL, byte for byte';
comment on column ripen.staged_links.click_url is 'Click URL with its placeholders, byte for byte';
comment on column ripen.staged_links.impression_url is 'Impression URL with its placeholders, byte for byte';
comment on column ripen.staged_links.seen is 'Order of listing within the app, the later of two wins';

create table ripen.staged_tree (
    token varchar not null,
    app_token varchar not null,
    parent_token varchar,
    root_token varchar not null,
    level integer not null,
    name varchar not null,
    label varchar not null,
    archived boolean not null,
    has_subtrackers boolean not null,
    partner_id varchar,
    inherited_partner_id varchar,
    cost_data_enabled boolean not null,
    url varchar,
    click_url varchar,
    impression_url varchar,
    network_name varchar not null,
    campaign_name varchar,
    adgroup_name varchar,
    creative_name varchar
);

comment on table ripen.staged_tree is 'The links of an app that are about to be put in place, with their paths';
comment on column ripen.staged_tree.token is 'Link token, unique in the account';
comment on column ripen.staged_tree.app_token is 'The app the link belongs to';
comment on column ripen.staged_tree.parent_token is 'The link above, NULL for a network';
comment on column ripen.staged_tree.root_token is 'The network at the top of the path, itself for a network';
comment on column ripen.staged_tree.level is '1 network, 2 campaign, 3 ad group, 4 creative';
comment on column ripen.staged_tree.name is 'The labels of the path, joined by the service with ::';
comment on column ripen.staged_tree.label is 'The name given at creation';
comment on column ripen.staged_tree.archived is 'Whether the link is archived';
comment on column ripen.staged_tree.has_subtrackers is 'Whether the link has sub-links';
comment on column ripen.staged_tree.partner_id is 'The partner as the service lists it, NULL on sub-links';
comment on column ripen.staged_tree.inherited_partner_id is 'The partner of the nearest link above that has one, NULL for a network';
comment on column ripen.staged_tree.cost_data_enabled is 'Whether ad cost data is enabled';
comment on column ripen.staged_tree.url is 'Link URL, byte for byte';
comment on column ripen.staged_tree.click_url is 'Click URL with its placeholders, byte for byte';
comment on column ripen.staged_tree.impression_url is 'Impression URL with its placeholders, byte for byte';
comment on column ripen.staged_tree.network_name is 'Label of the network in the path of the link';
comment on column ripen.staged_tree.campaign_name is 'Label of the campaign in the path, NULL above it';
comment on column ripen.staged_tree.adgroup_name is 'Label of the ad group in the path, NULL above it';
comment on column ripen.staged_tree.creative_name is 'Label of the creative in the path, NULL above it';
