/** The links of a simulator, with what their owners do to them between two crawls. */

import type { LinkStore as PlainLinkStore } from '../../../src/simulator/lists.ts';
import type { WorldLink } from '../../../src/simulator/world/entities.ts';

/** A link to add, with the sub-links below it. */
export interface LinkTree {
  readonly name: string;
  readonly partnerId?: number;
  readonly children?: readonly LinkTree[];
}

export interface LinkStore extends PlainLinkStore {
  /** Adds a link and everything below it; returns the topmost. */
  add(appToken: string, parentToken: string | null, tree: LinkTree): WorldLink;
  /** Gives a link a new label; the names of everything below it follow. */
  rename(token: string, label: string): void;
  archive(token: string): void;
  /** Removes a link and everything below it. */
  remove(token: string): void;
}

export function changingLinks(plain: PlainLinkStore): LinkStore {
  const below = ({ appToken, token }: WorldLink): WorldLink[] =>
    plain.list(appToken, token).map(({ item }) => item);
  const named = (link: WorldLink, parentName: string | null): void => {
    const name = parentName === null ? link.label : `${parentName}::${link.label}`;
    plain.change(link.token, { label: link.label, name });
    for (const child of below(link)) named(child, name);
  };
  const store: LinkStore = {
    ...plain,
    add(appToken, parentToken, { name, partnerId, children = [] }) {
      const { token } = plain.insert({ appToken, parentToken, label: name });
      const link = plain.change(token, { partner_id: partnerId ?? null });
      for (const child of children) store.add(appToken, token, child);
      return link;
    },
    rename(token, label) {
      const link = plain.find(token);
      if (link === null) throw new RangeError(`The simulator has no link with the token ${token}`);
      const parent = link.parentToken === null ? null : plain.find(link.parentToken);
      named({ ...link, label }, parent?.name ?? null);
    },
    archive: (token) => plain.change(token, { archived: true }),
    remove(token) {
      const link = plain.find(token);
      if (link === null) throw new RangeError(`The simulator has no link with the token ${token}`);
      for (const child of below(link)) store.remove(child.token);
      plain.delete(token);
    },
  };
  return store;
}
