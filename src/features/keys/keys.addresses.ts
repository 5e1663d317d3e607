import { BlockList, isIP } from "node:net";

/** @param ranges addresses and CIDR ranges; none: everywhere is allowed */
export function createAddressCheck(ranges: readonly string[]): (address: string) => boolean {
  if (ranges.length === 0) return () => true;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", length] = range.split("/");
    const family = familyOf(address);
    if (length === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(length), family);
  }
  return (given) => {
    const address = given.startsWith("::ffff:") && given.includes(".") ? given.slice("::ffff:".length) : given;
    return isIP(address) !== 0 && list.check(address, familyOf(address));
  };
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
