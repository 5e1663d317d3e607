import type { User } from "../../../sandbox/index.ts";
import { pauseBot } from "../../support/bot.ts";
import type { World } from "../../support/world.ts";
import type { Scene } from "./scene.ts";

/** Servers that are nowhere else. */
export const [left, right] = ["80351110224678912", "80351110224678913"] as const;
export const reason = "Led the raid of last night.";
/** Long enough for a decision that one person takes alone. */
export const grounds = "Three people saw it and all say the same.";

/** Nothing is told in Discord: what the bot does in its own time is at a different point in either world. */
export const silence = ({ world }: Pick<Scene, "world">): Promise<void> => {
  pauseBot(world.app.discord);
  return Promise.resolve();
};

/** Where commands are given. */
export function channelIn({ sandbox, guild }: World): string {
  const [channel] = sandbox.inside.world.guilds.get(guild.id)?.channels.keys() ?? [];
  if (channel === undefined) throw new Error("the guild has no channel");
  return channel;
}

/** File a request over HTTP; its reference is kept under a name. */
export async function file({ world, kept }: Scene, name: string, by: User, type: string, body: object): Promise<void> {
  const { status, body: answer } = await world.post(`/workflows/${type}`, body, { actor: by });
  if (status !== 201) throw new Error(JSON.stringify(answer));
  kept[name] = answer.reference as string;
}

/** File what one approval decides, about somebody nobody knows. */
export const filePunishment = (scene: Scene, name: string, by: User, more: object = {}): Promise<void> =>
  file(scene, name, by, "punishment", { user_id: scene.world.member().id, action: "warning", reason, ...more });

/** File what two approvals decide. */
export const fileListing = (scene: Scene, name: string, by: User): Promise<void> =>
  file(scene, name, by, "blacklist-user", { user_id: scene.world.member().id, category: "raid", severity: "high", reason });

/** Where a request that is kept is reached. */
export const pathOf = ({ kept }: Pick<Scene, "kept">, name: string, type = "punishment"): string =>
  `/workflows/${type}/${kept[name] ?? ""}`;

/** What a decision about it is typed with. */
export const called = ({ kept }: Pick<Scene, "kept">, name: string): { reference: string } => ({ reference: kept[name] ?? "" });

/** Decide a request that is kept. */
export async function decide(scene: Scene, name: string, by: User, body: object, type = "punishment"): Promise<void> {
  const { status, body: answer } = await scene.world.post(`${pathOf(scene, name, type)}/decision`, body, { actor: by });
  if (status !== 200) throw new Error(JSON.stringify(answer));
}
