import { isIP } from "node:net";
import { createAddressRanges } from "../../kernel/addresses.ts";

/** @param ranges addresses and CIDR ranges; none: everywhere is allowed */
export function createAddressCheck(ranges: readonly string[]): (address: string) => boolean {
  return ranges.length === 0 ? () => true : createAddressRanges(ranges);
}

/** Whether an allow-list lets in nobody whom another one keeps out. A range that several others cover together does not count. */
export function isNarrower(inner: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true;
  return inner.length > 0 && inner.every((range) => outer.some((wide) => isWithin(range, wide)));
}

function isWithin(range: string, wide: string): boolean {
  const [inner, outer] = [parse(range), parse(wide)];
  return inner.family === outer.family && inner.bits >= outer.bits && createAddressRanges([wide])(inner.address);
}

function parse(range: string): { address: string; family: number; bits: number } {
  const [address = "", bits] = range.split("/");
  const family = isIP(address);
  return { address, family, bits: bits === undefined ? (family === 4 ? 32 : 128) : Number(bits) };
}
