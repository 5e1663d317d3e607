import { createRun, type Run } from "../../sandbox/interaction-run.ts";
import type { Sandbox, User } from "../../sandbox/index.ts";
import type { Interactions } from "../../sandbox/interactions.ts";
import type { Entry } from "../../src/commands/entry.ts";

interface Opened {
  type: number;
  data: Record<string, unknown>;
  /** What a button or a form sits on. */
  source?: Parameters<Interactions["open"]>[0]["source"];
}

/** Opens interactions as they come over the wire, whatever is in them. */
export function rawDoor({ inside: { world, signal, interactions } }: Sandbox, guildId: string) {
  return (user: User, { type, data, source = null }: Opened): Run => {
    const guild = world.guilds.get(guildId);
    const member = guild?.members.get(user.id);
    const [channel] = guild?.channels.values() ?? [];
    if (guild === undefined || member === undefined || channel === undefined) throw new Error("no such place");
    const opening = { type, data, source, guild, member, channel, name: String(data["name"] ?? data["custom_id"] ?? "") };
    return createRun({ world, signal, interactions }, opening);
  };
}

/** The data of a command. @param options as the wire carries them */
export function commandData({ command, path }: Pick<Entry, "command" | "path">, options: readonly object[], extra: object = {}) {
  const parts = path === "" ? [] : path.split(" ");
  const nested = parts
    .toReversed()
    .reduce<readonly object[]>((within, name, index) => [{ type: index === 0 ? 1 : 2, name, options: within }], options);
  return { id: "1", type: 1, name: command, options: nested, ...extra };
}
