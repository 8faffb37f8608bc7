/** The files `ripen init` writes. */

/** Beside `ripen.yaml`, so that editors find it without a network. */
export const SCHEMA_FILE = 'ripen.schema.json';

const realService = `service:
  base_url: https://campaign.example.com    # campaign API: partners and links
  reports_url: https://reports.example.com  # reports and filters-data
  token: \${RIPEN_TOKEN}                     # or token_file: /run/secrets/ripen-token
`;

const simulatedService = `service: simulator                          # comes with ripen: no account, no network
# Your own service, in its place:
${realService.replaceAll(/^(?=.)/gm, '# ')}`;

/** The configuration for an account, or for the simulator, which needs none. */
export const configText = (isSimulated: boolean): string => `# yaml-language-server: $schema=./${SCHEMA_FILE}
#
# Configuration of ripen. \${NAME} and \${NAME:-default} come from the environment. Paths start at this file's directory.
# Next: ${isSimulated ? '' : 'set the variables of .env.example, then '}\`npx ripen check\`, then \`npx ripen sync\`.

${isSimulated ? simulatedService : realService}
warehouse: data/warehouse.duckdb            # ripen's own file; readers get the copies below

publish:                                    # any number, in any combination
  - duckdb: analytics/analytics.duckdb      # one file, replaced atomically
  - delta: analytics/tables                 # Delta tables: a night at a time for Spark, ClickHouse, Power BI …; or s3://

partners: true
links: { apps: all, max_level: 4 }          # apps: all or a list of tokens; max_level 1 network … 4 creative

defaults:                                   # for every slice; any report parameter can be set here or in a slice
  utc_offset: "+00:00"
  currency: USD
  attribution_type: all
  reattributed: all                         # leaving it out doubles some reports against the dashboard

slices:                                     # one table each
  - name: network_daily
    dimensions: [day, app_token, app, partner_id, partner_name, network, os_name, country_code]
    metrics: [installs, clicks, impressions, cost, all_revenue_total_d7, all_revenue_total_d30]
    date_period: -60d:yesterday             # both ends inclusive; an ISO date, today, yesterday, month_start or -Nd
    # filters: { os_name__in: [ios, android], installs__gte: 1 }
    refresh: milestones                     # or nightly, or ages in days such as [1, 2, 7, 30]
    # completeness: warn                    # loads a window that is not proven complete; it fails otherwise
    # retain: 800d                          # lets older periods go; all are kept otherwise
`;

export const environmentText = `# Copy to .env, fill in, keep out of version control. ripen reads the environment, not this file:
#   set -a; . ./.env; set +a; npx ripen check
RIPEN_TOKEN=
`;

export const ignoredText = `# What ripen writes, and what nobody else is to read.
.env
data/
analytics/
`;
