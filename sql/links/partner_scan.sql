-- How far rows were searched for partners, and how far they could be.
-- Returns one row: searched (newest load that was searched, 0 before the first search), newest (newest load).
select
    coalesce((select max(load_id) from ripen.partner_scans), 0) as searched,
    coalesce((select max(load_id) from ripen.loads), 0) as newest
