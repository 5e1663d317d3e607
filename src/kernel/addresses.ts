import { BlockList, isIP } from "node:net";

/** Whether a text is an IP address or a network such as `203.0.113.0/24`. */
export function isAddressRange(text: string): boolean {
  const [address = "", bits, ...more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** @param ranges addresses and networks; the answer says whether an address is one of theirs */
export function createAddressRanges(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (given) => {
    const address = plainAddress(given);
    return isIP(address) !== 0 && list.check(address, familyOf(address));
  };
}

/** An IPv4 address as a dual-stack socket tells it is the IPv4 address. */
export function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice("::ffff:".length) : address;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
