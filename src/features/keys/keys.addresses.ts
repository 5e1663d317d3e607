import { createAddressRanges } from "../../kernel/addresses.ts";

/** @param ranges addresses and CIDR ranges; none: everywhere is allowed */
export function createAddressCheck(ranges: readonly string[]): (address: string) => boolean {
  return ranges.length === 0 ? () => true : createAddressRanges(ranges);
}
