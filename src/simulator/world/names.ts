/** The names that the owners of a world gave to things. */

export interface Names {
  readonly partners: readonly string[];
  readonly apps: readonly string[];
  /** Labels of links by level; a number follows where they run out. */
  readonly labels: Readonly<Record<1 | 2 | 3 | 4, readonly string[]>>;
  /** Labels that every third link has in place of one of its level; none leaves every link its own. */
  readonly oddLabels: readonly string[];
}

/** The first two apps are the same one for two stores, distinct by their tokens only. */
export const ordinaryNames: Names = {
  partners: [
    'Northwind Ads',
    'Halcyon Social',
    'Kumo',
    'Pixelmill',
    'Juniper Search',
    'Bluefin DSP',
    'Tessera',
    'Étoile Média',
    'Mosaic Video',
    'Offerwall Plus',
  ],
  apps: ['Dulci', 'Dulci', 'Rover', 'Ledger', 'Atlas', 'Quill'],
  labels: {
    1: ['Northwind', 'Halcyon Social', 'Kumo', 'Pixelmill', 'Juniper Search', 'Bluefin DSP', 'Tessera', 'Mosaic Video'],
    2: ['Spring Sale', 'Retargeting', 'Lookalike 1%', 'Brand', 'Summer', 'Broad'],
    3: ['Women 25-34', 'Men 18-24', 'Interests', 'All audiences', 'High value'],
    4: ['Video 15s', 'Banner 320x50', 'Playable', 'Story 9:16', 'Carousel'],
  },
  oddLabels: [],
};
