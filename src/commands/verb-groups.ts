/** The words of the commands that have commands of their own: `links` and `spend`. */

import {
  type Chooser,
  linksCreateOptions,
  linksOptions,
  linksUpdateOptions,
  spendOptions,
  type Verbs,
} from './verb-options.ts';

/** `links list`, `links create`, `links update`. */
export const linksVerbs = (verbs: Verbs, chooser: Chooser) =>
  verbs
    .example('ripen links list --app abc123def456', 'its network links')
    .command(
      'list',
      'List network links, or the sub-links of one',
      (cli) =>
        cli
          .options(chooser.offer(linksOptions))
          .example('ripen links list --app abc123def456 --parent 1a2b3c', 'its sub-links'),
      (args) => {
        chooser.choose(async (shell) => (await import('./links.ts')).linksList(args, shell));
      },
    )
    .command(
      'create',
      'Create a network link, or a sub-link',
      (cli) =>
        cli
          .options(chooser.offer(linksCreateOptions))
          .example('ripen links create --app abc123def456 --name Summer --parent 1a2b3c', 'a sub-link'),
      (args) => {
        chooser.choose(async (shell) => (await import('./links.ts')).linksCreate(args, shell));
      },
    )
    .command(
      'update',
      "Change a link's partner or cost data",
      (cli) =>
        cli
          .options(chooser.offer(linksUpdateOptions))
          .example('ripen links update --app abc123def456 --link 1a2b3c --partner 174', 'attaches a partner'),
      (args) => {
        chooser.choose(async (shell) => (await import('./links.ts')).linksUpdate(args, shell));
      },
    )
    .demandCommand(1, 1, 'links needs a command: list, create or update');

/** `spend send`. */
export const spendVerbs = (verbs: Verbs, chooser: Chooser) =>
  verbs
    .example('ripen spend send --file spend.csv --dry-run', 'what would be sent')
    .command(
      'send',
      'Send ad spend, no Cost ID twice',
      (cli) =>
        cli
          .options(chooser.offer(spendOptions))
          .example('ripen spend send --file spend.csv', 'bad lines go to spend.csv.rejects.ndjson'),
      (args) => {
        chooser.choose(async (shell) => (await import('./spend-send.ts')).spendSend(args, shell));
      },
    )
    .demandCommand(1, 1, 'spend needs a command: send');
