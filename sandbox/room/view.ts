import type { Guild, Member, User } from "../model.ts";
import type { RoomState } from "./state.ts";

/** What the page looks at: as whom, in which language, and which page of the members. */
export type View = { guild: Guild; member: Member; user: User; language: string; page: number };

/** Languages a person may read Discord in; one that a bot has no texts in shows what it falls back to. */
export const languages = { "en-US": "English", de: "Deutsch", fr: "Français" } as const;

/** What a request names, else the first guild and the first person in it. */
export function viewOf({ world }: Pick<RoomState, "world">, query: { get(name: string): unknown }): View {
  const guild = world.guilds.get(String(query.get("guild"))) ?? [...world.guilds.values()][0];
  if (!guild) throw new Error("there is no server yet");
  const member = guild.members.get(String(query.get("as"))) ?? [...guild.members.values()].find(({ user }) => !user.bot);
  if (!member) throw new Error(`nobody is in ${guild.name}`);
  const { user } = member;
  const named = String(query.get("language"));
  const language = Object.hasOwn(languages, named) ? named : (user.locale ?? "en-US");
  const page = Number(query.get("page") ?? 0);
  return { guild, member, user, language, page: Number.isInteger(page) && page > 0 ? page : 0 };
}
