-- Stages listed links of an app, as rows of main.links.
-- $1 the links as a JSON list
-- Returns nothing.
insert into ripen_internal.staged_links
select
    unnest(
        from_json(
            $1::json,
            '[{"token":"VARCHAR","app_token":"VARCHAR","parent_token":"VARCHAR","root_token":"VARCHAR","level":"INTEGER","name":"VARCHAR","label":"VARCHAR","archived":"BOOLEAN","has_subtrackers":"BOOLEAN","partner_id":"VARCHAR","inherited_partner_id":"VARCHAR","cost_data_enabled":"BOOLEAN","url":"VARCHAR","click_url":"VARCHAR","impression_url":"VARCHAR","network_name":"VARCHAR","campaign_name":"VARCHAR","adgroup_name":"VARCHAR","creative_name":"VARCHAR"}]'
        ),
        recursive := true
    )
