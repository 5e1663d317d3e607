/** A Discord role as one text, `guildId:roleId`: a key for sets and maps, and what reasons name. */
export function roleRef(guildId: string, roleId: string): string {
  return `${guildId}:${roleId}`;
}
