import { say } from "../kit/say.ts";
import type { GuildStanding } from "../discord/guild-state.ts";
import { actionNeeds, hasPermission, roleProblem, type MemberAction } from "./possible.ts";

/** Something that a guild is set up to have the bot do. */
export type SetUp = { kind: Exclude<MemberAction["kind"], "role_add" | "role_remove"> } | { kind: "role_add"; roleId: string };

/** What keeps the bot from doing what a guild is set up for, with what would help; nothing where that is not known. */
export function lackingFor(guild: GuildStanding | undefined, setUp: readonly SetUp[]): string[] {
  if (guild === undefined || guild.bot === null) return [];
  const { bot, name } = guild;
  const needs = setUp.map(({ kind }) => actionNeeds[kind]);
  const permissions = [...new Set(needs.flatMap(({ bit, permission }) => (hasPermission(guild, bot, bit) ? [] : [permission])))].join(", ");
  const roles = setUp.flatMap((one) => ("roleId" in one ? (roleProblem(one, guild)?.detail ?? []) : []));
  const lacks = say("discord-actions.missing-permissions", { name, permissions: permissions });
  return [...(permissions === "" ? [] : [lacks]), ...new Set(roles)];
}
