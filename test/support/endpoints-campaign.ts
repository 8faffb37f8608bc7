/** The rows of the interface table that are about partners, links and what calls on them have in common. */

import type { InterfaceRow } from './endpoints-names.ts';

const CALLS = 'integration/interface-campaign.test.ts';
const CRAWL = 'integration/links-crawl.test.ts';
const PARTNERS = 'integration/links-partners.test.ts';
const WRITES = 'fault/links-write.test.ts';
const ANSWERS = 'fault/service-answers.test.ts';
const PAGING = 'unit/service-paging.test.ts';
const SIMULATED_PAGING = 'unit/simulator-paging.test.ts';
const SIMULATED = 'integration/simulator-campaign.test.ts';
const SERVICE_CALLS = 'integration/service-calls.test.ts';

const LISTS = 'GET {base_url}/public/v2/apps/{app_token}/trackers, or v1';
const CHILDREN = 'GET …/trackers/{link_token}/children, v2 or v1';
const CREATE = 'POST {base_url}/public/v1/apps/{app_token}/trackers';
const UPDATE = 'PATCH {base_url}/public/v1/apps/{app_token}/trackers/{link_token}';
const COMMON = 'Envelope and paging of the campaign API';

export const campaignRows: readonly InterfaceRow[] = [
  {
    part: 'GET {base_url}/public/v1/partners',
    kind: 'parameter',
    names: ['after'],
    what: 'sent as the page before names it, in next or in cursors.after',
    proofs: [
      [CALLS, 'starts without after, before and limit, and follows next with the after and limit it carries'],
      [CALLS, 'passes cursors.after as after where the paging object names no next'],
    ],
  },
  {
    part: 'GET {base_url}/public/v1/partners',
    kind: 'parameter',
    names: ['before', 'limit'],
    what: 'not sent by itself: the list is read forwards, in pages of the size the service chooses; the simulator takes both',
    proofs: [
      [CALLS, 'starts without after, before and limit, and follows next with the after and limit it carries'],
      [SIMULATED_PAGING, 'between two cursors holds what lies between'],
      [SIMULATED, 'comes in pages of 3, 3 and 1 by cursors.after, with counts as strings'],
    ],
  },
  {
    part: 'GET {base_url}/public/v1/partners',
    kind: 'field',
    names: ['id', 'display_name', 'supports_cost_data'],
    what: 'columns of `partners` and `partners_history`, ids as text; partners that only rows carry are marked unlisted',
    proofs: [
      [CALLS, 'reads id, display_name and supports_cost_data'],
      [PARTNERS, '120 partners over 3 pages are stored as listed; the same list again makes no new version'],
      [
        PARTNERS,
        'a renamed partner gets a second version, one no longer listed is closed, one that rows carry stays unlisted',
      ],
      [
        'integration/links-joins.test.ts',
        'every row of a slice that names partners finds its partner, by column or by attr_dependency, organic too',
      ],
    ],
  },
  {
    part: LISTS,
    kind: 'parameter',
    names: ['app_token', 'cursor', 'limit'],
    what: 'the apps of the configuration, of the catalog and of loaded rows; cursor and limit as next carries them',
    proofs: [
      [CALLS, 'is asked for in v2 without cursor and limit, and reads all 11 fields of a link byte for byte'],
      [CALLS, 'in v2 follows a next that carries %s and the limit, to an end that is %j'],
      [CALLS, 'in v1, where v2 is absent, follows a next that carries after and limit'],
      [
        'integration/links-apps.test.ts',
        'all apps are those of the catalog and of loaded rows; an app nothing names any more is left as it is, and said',
      ],
    ],
  },
  {
    part: LISTS,
    kind: 'field',
    names: [
      'name',
      'token',
      'label',
      'level',
      'archived',
      'has_subtrackers',
      'partner_id',
      'cost_data_enabled',
      'url',
      'click_url',
      'impression_url',
    ],
    what: 'columns of `links` and `links_history`, byte for byte; `has_subtrackers` guides the crawl',
    proofs: [
      [CALLS, 'is asked for in v2 without cursor and limit, and reads all 11 fields of a link byte for byte'],
      [CRAWL, '10 000 links of 6 apps in 4 levels are stored exactly, then changed ones only get new versions'],
      [CRAWL, 'hostile names and URLs are stored byte for byte; half a surrogate pair becomes U+FFFD'],
      [SERVICE_CALLS, 'have numbers and flags sent as strings read as what they are'],
    ],
  },
  {
    part: CHILDREN,
    kind: 'parameter',
    names: ['app_token', 'link_token', 'cursor', 'limit'],
    what: 'asked for links that have sub-links alone, each once; cursor and limit as next carries them',
    proofs: [
      [CALLS, 'is asked for in v2 without cursor and limit, and reads all 11 fields of a link byte for byte'],
      [CALLS, 'in v2 follows a next that carries %s and the limit, to an end that is %j'],
      [CALLS, 'in v1, where v2 is absent, follows a next that carries after and limit'],
      [CRAWL, 'max_level 2 asks nothing below campaigns, and raising it to 4 at the same instant crawls again'],
    ],
  },
  {
    part: CHILDREN,
    kind: 'rule',
    names: ['partner_id null on sub-links'],
    what: 'stored as it is; `inherited_partner_id` is that of the nearest link above that has one',
    proofs: [
      [WRITES, 'a changed partner is stored for the link and for all that inherit it'],
      [CRAWL, '10 000 links of 6 apps in 4 levels are stored exactly, then changed ones only get new versions'],
    ],
  },
  {
    part: CHILDREN,
    kind: 'rule',
    names: ['name of a sub-link: parent, ::, label', 'levels 1 to 4'],
    what: '`name` and `label` as sent, level and the names of the path from the place in the tree; `max_level` ends the crawl',
    proofs: [
      [WRITES, 'a created network and sub-link are returned and stored as the next crawl finds them'],
      [CRAWL, 'max_level 2 asks nothing below campaigns, and raising it to 4 at the same instant crawls again'],
      [SIMULATED, 'refuses a fifth level, another content type, and v2'],
    ],
  },
  {
    part: CREATE,
    kind: 'parameter',
    names: ['app_token', 'name', 'parent_token'],
    what: '`links create --app --name --parent`, as JSON; sent once, and what it made is shown and stored',
    proofs: [
      [CALLS, 'POST apps/{app_token}/trackers below %s sends %s as application/json, and reads the one link'],
      [WRITES, 'what is wrong before the call is never sent'],
      [WRITES, 'a created network and sub-link are returned and stored as the next crawl finds them'],
    ],
  },
  {
    part: CREATE,
    kind: 'status',
    names: ['not shown'],
    what: 'refused by any 4xx; looked up, and never sent twice, after a lost answer, a failing server or a status nobody knows',
    proofs: [
      [CALLS, '%i to a creation never makes a second one'],
      [WRITES, 'a lost answer to a creation that took place is looked up: one POST, the link returned and stored'],
      [WRITES, '%s to a creation that did not take place is looked up: not created, not sent again'],
      [WRITES, 'a lost answer that cannot be looked up either stays unknown'],
    ],
  },
  {
    part: UPDATE,
    kind: 'parameter',
    names: ['app_token', 'link_token', 'partner_id', 'cost_data_enabled'],
    what: '`links update --app --link --partner --cost-data`, as JSON, an id with all its digits',
    proofs: [
      [
        CALLS,
        'PATCH apps/{app_token}/trackers/{link_token} with %j sends %s as application/json, and reads the one link',
      ],
      ['fault/service-writes.test.ts', 'keeps every digit of a partner id beyond 2^53, and sends false as false'],
      [
        WRITES,
        'an id that is not in the stored partner list warns with the nearest, a name or a part of it fails with its id',
      ],
      [
        'integration/links-commands.test.ts',
        'links create and links update print the link as JSON, and make no warehouse where there is none',
      ],
    ],
  },
  {
    part: UPDATE,
    kind: 'status',
    names: ['not shown'],
    what: 'as for a list: an update may be repeated, twice being the same as once',
    proofs: [[CALLS, '%i to an update is %s; it may be repeated, as twice is the same as once']],
  },
  {
    part: COMMON,
    kind: 'field',
    names: ['data', 'items', 'paging'],
    what: 'read; a list without items is garbled, one without paging has one page',
    proofs: [
      [CALLS, 'reads id, display_name and supports_cost_data'],
      [PAGING, 'end where %s'],
      [SIMULATED, 'every list and write has the shape of its published example'],
    ],
  },
  {
    part: COMMON,
    kind: 'field',
    names: [
      'api_version',
      'request_id',
      'timestamp',
      'page_size',
      'collection_size',
      'total',
      'previous',
      'cursors.before',
    ],
    what: 'not used: none of them says whether there is more, and a short page is not the last',
    proofs: [
      [CALLS, 'goes on after a page_size of 50 with a collection_size of 49: only the end of the cursors is the end'],
    ],
  },
  {
    part: COMMON,
    kind: 'field',
    names: ['next', 'cursors.after', 'cursor'],
    what: 'next is followed, on the same origin only; without one cursors.after is passed on; cursor is not used',
    proofs: [
      [CALLS, 'in v2 follows a next that carries %s and the limit, to an end that is %j'],
      [CALLS, 'passes cursors.after as after where the paging object names no next'],
      ['fault/service-paging.test.ts', 'that points to another origin is not followed: the token never leaves its own'],
    ],
  },
  {
    part: COMMON,
    kind: 'rule',
    names: ['next of v1 carries after', 'next of v2 carries cursor or after', 'end of the pages'],
    what: 'followed as it is, to an end that is null, empty or absent; the tree is whole in every style',
    proofs: [
      [CRAWL, 'with paging %o'],
      [PAGING, 'end where %s'],
      [PAGING, 'go on after a short page and after an empty one, which is not handed on'],
    ],
  },
  {
    part: COMMON,
    kind: 'status',
    names: ['not shown'],
    what: 'told in the words of the service; tried again only where that may help, up to 6 times; an unlisted one halts',
    proofs: [[CALLS, '%i to a list is %s after %i calls']],
  },
  {
    part: 'Authentication',
    kind: 'rule',
    names: ['Token token=<API_TOKEN>'],
    what: 'sent to the campaign API alone',
    proofs: [[CALLS, 'reads id, display_name and supports_cost_data']],
  },
  {
    part: 'Authentication',
    kind: 'rule',
    names: ['Bearer <API_TOKEN>'],
    what: 'sent to the reports API alone',
    proofs: [
      [
        'integration/interface-report.test.ts',
        'asks for filters_data in one call before all reports, under the same Bearer token',
      ],
    ],
  },
  {
    part: 'Authentication',
    kind: 'rule',
    names: ['partner credentials'],
    what: '`service.cost_headers`, in whatever form; the token is not sent there',
    proofs: [['fault/service-writes.test.ts', 'is sent form-encoded with the cost headers and without the token']],
  },
  {
    part: 'Authentication',
    kind: 'rule',
    names: ['a token that is reset'],
    what: 'ends the run at the first 401: no call waits for another try with it',
    proofs: [
      [ANSWERS, 'mid-run cancels the queue: of 200 calls only those in flight see it, and later ones fail unsent'],
      ['fault/links-crawl.test.ts', 'a token that is reset mid-crawl ends the refresh, and no app is half replaced'],
    ],
  },
  {
    part: 'Limits',
    kind: 'rule',
    names: ['limit: positive, default 50'],
    what: 'left to the service, whose default is known to work and whose maximum is not shown',
    proofs: [[CRAWL, '10 000 links of 6 apps in 4 levels are stored exactly, then changed ones only get new versions']],
  },
  {
    part: 'Limits',
    kind: 'rule',
    names: ['app_token: 12 alphanumeric characters'],
    what: 'other lengths warn and are asked for; other characters are refused unsent',
    proofs: [
      [WRITES, 'an app token such as %s, of %i characters instead of 12, warns and is asked for all the same'],
      [
        'integration/links-commands.test.ts',
        'an app token that is not 12 characters long is warned of and asked for all the same',
      ],
      ['fault/service-writes.test.ts', 'under a token that would leave its path is refused unsent'],
    ],
  },
  {
    part: 'Versions',
    kind: 'rule',
    names: ['v2 of the link lists, else v1'],
    what: 'v2 first; v1 once v2 was answered 404 or 410 and v1 was not',
    proofs: [
      [SERVICE_CALLS, 'fall back to v1 where v2 answers 404, once per connection'],
      [SERVICE_CALLS, 'of an app that neither version knows are SOURCE_MISSING, and v2 stays the first to be asked'],
    ],
  },
  {
    part: 'Versions',
    kind: 'rule',
    names: ['partners, create and update under v1 alone'],
    what: 'asked for there',
    proofs: [
      [CALLS, 'starts without after, before and limit, and follows next with the after and limit it carries'],
      [CALLS, 'POST apps/{app_token}/trackers below %s sends %s as application/json, and reads the one link'],
      [
        CALLS,
        'PATCH apps/{app_token}/trackers/{link_token} with %j sends %s as application/json, and reads the one link',
      ],
    ],
  },
];
