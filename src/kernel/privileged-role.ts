/** The positions of Discord's permission bits that let a member moderate or administer a server. */
const privilegedBits = {
  KICK_MEMBERS: 1,
  BAN_MEMBERS: 2,
  ADMINISTRATOR: 3,
  MANAGE_CHANNELS: 4,
  MANAGE_GUILD: 5,
  VIEW_AUDIT_LOG: 7,
  MANAGE_MESSAGES: 13,
  MUTE_MEMBERS: 22,
  DEAFEN_MEMBERS: 23,
  MOVE_MEMBERS: 24,
  MANAGE_NICKNAMES: 27,
  MANAGE_ROLES: 28,
  MANAGE_WEBHOOKS: 29,
  MANAGE_GUILD_EXPRESSIONS: 30,
  MANAGE_EVENTS: 33,
  MANAGE_THREADS: 34,
  MODERATE_MEMBERS: 40,
} as const;

const mask = Object.values(privilegedBits).reduce((bits, place) => bits | (1n << BigInt(place)), 0n);

/**
 * Whether a Discord role lets its members moderate or administer a server.
 * @returns undefined while the bits of the role are not known
 */
export function isPrivilegedRole(role: { readonly permissions?: bigint } | undefined): boolean | undefined {
  return role?.permissions === undefined ? undefined : (role.permissions & mask) !== 0n;
}
