/** Partners and links as the campaign API states them (service-interface: Resources and their fields). */

export interface Partner {
  /** An integer on the wire, a string in reports; kept as its decimal text. */
  readonly id: string;
  readonly displayName: string;
  readonly supportsCostData: boolean;
}

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

/** Whether two names are one but for their blanks and their Unicode form, which a service may change. */
export function isSameName(one: string, other: string): boolean {
  return plainName(one) === plainName(other);
}

const plainName = (name: string): string => name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
