import type { User } from "../../../sandbox/index.ts";
import type { Case, Options, Scene } from "./scene.ts";

const reason = "Advertised in several channels after being asked to stop.";
const rules = ({ world }: Scene): string => `/guilds/${world.guild.id}/direct`;
const templates = ({ world }: Scene): string => `/guilds/${world.guild.id}/reasons`;

/** An action by command, and over HTTP. */
function moderation(entry: string, action: string, who: (scene: Scene) => User, more: Options = {}, wrong: Options = {}): Case {
  const way = (given: Options) => ({
    given: (scene: Scene) => ({ user: who(scene), ...given }),
    http: (scene: Scene) =>
      ["POST", `/guilds/${scene.world.guild.id}/moderation`, bodyOf(action, who(scene).id, given)] as [string, string, unknown],
  });
  return { entry, ...way({ reason, ...more }), wrong: way({ ...more, ...wrong, reason: "Short." }) };
}

function bodyOf(action: string, id: string, given: Options): object {
  const fields = Object.entries(given).map(([name, value]) => [name.replaceAll("-", "_"), value]);
  return { action, user_id: id, ...Object.fromEntries(fields) } as object;
}

const ann = (scene: Scene): User => scene.ann;
const bob = (scene: Scene): User => scene.bob;
const off = { warning: null, note: null, timeout: null, kick: null, ban: null };

const settings: readonly Case[] = [
  {
    entry: "setup direct set",
    given: () => ({ action: "timeout", level: "owner", max: "7d" }),
    http: (scene) => ["PUT", rules(scene), { ...off, timeout: { level: "owner", max: "7d" } }],
    wrong: {
      given: () => ({ action: "kick", level: "owner", max: "7d" }),
      http: (scene) => ["PUT", rules(scene), { ...off, kick: { level: "owner", max: "7d" } }],
    },
  },
  {
    entry: "setup direct show",
    before: async (scene) => {
      const level = { level: "owner" };
      const body = { warning: level, note: level, timeout: level, kick: level, ban: level };
      await scene.world.put(rules(scene), body, { actor: scene.owner });
    },
    http: (scene) => ["GET", rules(scene)],
  },
  {
    entry: "setup reasons add",
    given: () => ({ name: "spam" }),
    form: () => ({ text: reason }),
    http: (scene) => ["PUT", templates(scene), { reasons: [{ name: "spam", text: reason }] }],
  },
  { entry: "setup reasons list", http: (scene) => ["GET", templates(scene)] },
  {
    entry: "setup reasons remove",
    given: () => ({ name: "spam" }),
    http: (scene) => ["PUT", templates(scene), { reasons: [] }],
  },
];

const look = (reference: string): Pick<Case, "given" | "http"> => ({
  given: () => ({ reference }),
  http: () => ["POST", `/workflows/punishment/${reference}/look`, {}],
});

const undo = (reference: string): Pick<Case, "given" | "http"> => ({
  given: () => ({ reference }),
  http: () => ["POST", `/workflows/punishment/${reference}/undo`, {}],
});

/** Moderation in one step, and what is set for it. */
export const direct: readonly Case[] = [
  ...settings,
  {
    entry: "review later list",
    isOpen: true,
    http: () => ["GET", "/workflows?limit=5&review_later=true&sort=created_at"],
  },
  moderation("warn", "warning", ann, { points: 1, duration: "30d" }),
  moderation("note", "note", ann),
  moderation("timeout", "timeout", ann, { duration: "90m" }, { duration: "29d" }),
  moderation("untimeout", "untimeout", ann),
  moderation("kick", "kick", ann),
  moderation("ban", "ban", bob, { duration: "7d", "notify-subject": false }),
  moderation("unban", "unban", bob),
  {
    entry: "history",
    given: ({ ann: user }) => ({ user }),
    http: ({ ann: { id } }) => ["GET", `/users/${id}/timeline?limit=10`],
  },
  { entry: "review undo", ...undo("PUN-REQ-000001"), wrong: undo("PUN-REQ-999999") },
  { entry: "review later looked", by: "senior", ...look("PUN-REQ-000001"), wrong: look("PUN-REQ-999999") },
];
