/** Partners and links as the campaign API states them (service-interface: Resources and their fields). */

export interface Partner {
  /** An integer on the wire, a string in reports; kept as its decimal text. */
  readonly id: string;
  readonly displayName: string;
  /** Null where the service does not say. */
  readonly supportsCostData: boolean | null;
}

const INTEGER = /^-?(?:0|[1-9]\d{0,29})$/;

/** Whether a text can be a partner's id. */
export const isPartnerId = (text: string): boolean => INTEGER.test(text);

export interface Link {
  readonly token: string;
  readonly name: string;
  readonly label: string;
  /** 1 network, 2 campaign, 3 ad group, 4 creative. */
  readonly level: number;
  readonly archived: boolean;
  readonly hasSubtrackers: boolean;
  /** Null on sub-links in listings; they inherit their parent's. */
  readonly partnerId: string | null;
  readonly costDataEnabled: boolean;
  /** URLs hold macros, brackets and spaces; stored byte for byte, null when the service sent none. */
  readonly url: string | null;
  readonly clickUrl: string | null;
  readonly impressionUrl: string | null;
}

/** A link as an answer states it: what the answer leaves out is undefined. */
export type StatedLink = Pick<Link, 'token' | 'level'> & {
  readonly [Field in Exclude<keyof Link, 'token' | 'level'>]: Link[Field] | undefined;
};

/** What is taken of a link that nothing states. */
const unstated = {
  label: '',
  archived: false,
  // A guide for the crawl: where it is missing, asking costs a call, not asking might cost links.
  hasSubtrackers: true,
  partnerId: null,
  costDataEnabled: false,
  url: null,
  clickUrl: null,
  impressionUrl: null,
} as const satisfies Omit<Link, 'token' | 'level' | 'name'>;

/** The link that an answer states; what the answer leaves out is as it was before, and a link without a name has its label's. */
export function linkOf(
  stated: StatedLink,
  before: Omit<Link, 'token' | 'level'> = { ...unstated, name: stated.label ?? '' },
): Link {
  return {
    token: stated.token,
    name: stated.name ?? before.name,
    label: stated.label ?? before.label,
    level: stated.level,
    archived: stated.archived ?? before.archived,
    hasSubtrackers: stated.hasSubtrackers ?? before.hasSubtrackers,
    partnerId: stated.partnerId === undefined ? before.partnerId : stated.partnerId,
    costDataEnabled: stated.costDataEnabled ?? before.costDataEnabled,
    url: stated.url ?? before.url,
    clickUrl: stated.clickUrl ?? before.clickUrl,
    impressionUrl: stated.impressionUrl ?? before.impressionUrl,
  };
}

/** Whether two names are one but for their blanks and their Unicode form, which a service may change. */
export function isSameName(one: string, other: string): boolean {
  return plainName(one) === plainName(other);
}

const plainName = (name: string): string => name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
