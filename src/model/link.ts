/** Partners and links as the campaign API states them (service-interface: Resources and their fields). */

export interface Partner {
  /** Decimal text of the integer on the wire, as reports have it. */
  readonly id: string;
  readonly displayName: string;
  readonly supportsCostData: boolean | null;
}

export const isPartnerId = (text: string): boolean => /^-?(?:0|[1-9]\d{0,29})$/.test(text);

/** service-interface: Link. */
export const MAX_LEVEL = 4;

export interface Link {
  readonly token: string;
  readonly name: string;
  readonly label: string;
  /** 1 network, 2 campaign, 3 ad group, 4 creative. */
  readonly level: number;
  readonly archived: boolean;
  readonly hasSubtrackers: boolean;
  /** Null on sub-links in listings, which inherit their parent's. */
  readonly partnerId: string | null;
  readonly costDataEnabled: boolean;
  /** URLs contain macros, brackets and spaces, and are stored byte for byte. */
  readonly url: string | null;
  readonly clickUrl: string | null;
  readonly impressionUrl: string | null;
}

export type StatedLink = Pick<Link, 'token' | 'level'> & {
  readonly [Field in Exclude<keyof Link, 'token' | 'level'>]?: Link[Field] | null | undefined;
};

/** A name is the path's labels, joined by `::` (service-interface: Link). */
export function linkOf(stated: StatedLink): Link {
  const { token, level } = stated;
  const name = stated.name ?? stated.label ?? '';
  const labels = name.split('::').slice(level - 1);
  return {
    token,
    name,
    label: stated.label ?? labels.join('::'),
    level,
    archived: stated.archived ?? false,
    // Guides the crawl: a needless request costs one call, without one links might be missed.
    hasSubtrackers: stated.hasSubtrackers ?? true,
    partnerId: stated.partnerId ?? null,
    costDataEnabled: stated.costDataEnabled ?? false,
    url: stated.url ?? null,
    clickUrl: stated.clickUrl ?? null,
    impressionUrl: stated.impressionUrl ?? null,
  };
}

/** Ignores blanks and Unicode form, which a service may change. */
export function isSameName(one: string, other: string): boolean {
  const plain = (name: string) => name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
  return plain(one) === plain(other);
}
