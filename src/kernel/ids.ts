import { randomBytes } from "node:crypto";

let pool = Buffer.alloc(0);
let offset = 0;

function tenRandomBytes(): Buffer {
  if (offset + 10 > pool.length) {
    pool = randomBytes(10_240);
    offset = 0;
  }
  offset += 10;
  return pool.subarray(offset - 10, offset);
}

/** A UUIDv7 (RFC 9562): sortable by creation time, 74 random bits. Random bytes are drawn in bulk because request ids need one each. */
export function uuid7(now = Date.now()): string {
  const time = now.toString(16).padStart(12, "0");
  const random = tenRandomBytes();
  random[0] = ((random[0] ?? 0) & 0x0f) | 0x70;
  random[2] = ((random[2] ?? 0) & 0x3f) | 0x80;
  const tail = random.toString("hex");
  return `${time.slice(0, 8)}-${time.slice(8)}-${tail.slice(0, 4)}-${tail.slice(4, 8)}-${tail.slice(8)}`;
}

/** A Discord role as one text, `guildId:roleId`: a key for sets and maps, and what reasons name. */
export function roleRef(guildId: string, roleId: string): string {
  return `${guildId}:${roleId}`;
}

/** The time at which Discord's ids begin, in milliseconds. */
const discordEpoch = 1_420_070_400_000n;

/** When an account, or anything else of Discord, was made: the beginning of its id, in milliseconds. */
export function madeAt(id: string): number {
  return Number((BigInt(id) >> 22n) + discordEpoch);
}
