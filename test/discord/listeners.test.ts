// @module-tag sqlite
import { GatewayDispatchEvents as Dispatch, GatewayIntentBits as Intent } from "discord-api-types/v10";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createDiscord } from "../../src/discord/client.ts";
import { listener, type GatewayListener } from "../../src/discord/gateway/listeners.ts";
import { createLog, createStand, goLive, isLive, startSandbox, stranger, tracking, until } from "./support.ts";

const Ban = z.object({ guild_id: z.string(), user: z.object({ id: z.string(), username: z.string() }) });
type Ban = z.infer<typeof Ban>;

/** A row about bans, which the guild state asks nothing about. */
function onBan(handle: (ban: Ban) => void | Promise<void>): GatewayListener {
  return listener({ dispatch: Dispatch.GuildBanAdd, intents: [Intent.GuildModeration], schema: Ban, handle });
}

async function createHarbour(listeners: readonly GatewayListener[]) {
  const stand = await createStand({ discord: { listeners } });
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const [ann] = guild.addMembers(1, { roles: [staff] });
  const [rogue] = guild.addMembers(1);
  await state.track(tracking(guild, [staff]));
  await goLive(stand);
  const intents = () => (sandbox.gatewayLog.find(({ op }) => op === 2)!.d as { intents: number }).intents;
  return { ...stand, guild, ann: ann!, rogue: rogue!, intents };
}

test("the bot asks for the intents of its listeners and for no others", async () => {
  const without = await createHarbour([]);
  expect(without.intents()).toBe(Intent.Guilds | Intent.GuildMembers);
  const bans: Ban[] = [];
  const { intents, guild, rogue } = await createHarbour([onBan((ban) => void bans.push(ban))]);
  expect(intents()).toBe(Intent.Guilds | Intent.GuildMembers | Intent.GuildModeration);
  guild.ban(rogue);
  await until(() => bans.length === 1);
  expect(bans).toEqual([{ guild_id: guild.id, user: { id: rogue.id, username: rogue.username } }]);
});

test("an event that does not match reaches no handler, and is logged without its content", async () => {
  const bans: Ban[] = [];
  const stand = await createHarbour([onBan((ban) => void bans.push(ban))]);
  const { sandbox, guild, rogue, discord, log } = stand;
  sandbox.faults.event("GUILD_BAN_ADD", { guild_id: guild.id, user: { id: "a-name-nobody-has" } });
  guild.ban(rogue);
  await until(() => bans.length === 1);
  expect(discord.eventFaults().count).toBe(1);
  expect(log.join("")).toContain("GUILD_BAN_ADD");
  expect(log.join("")).not.toContain("a-name-nobody-has");
  expect(isLive(stand)).toBe(true);
});

test("a listener that fails, at once or later, harms no other", async () => {
  const bans: string[] = [];
  const roles: string[] = [];
  const stand = await createHarbour([
    onBan(() => {
      throw new Error("a listener that cannot go on");
    }),
    onBan(() => Promise.reject(new Error("a listener that failed later"))),
    onBan(({ user }) => void bans.push(user.id)),
    listener({
      dispatch: Dispatch.GuildMemberUpdate,
      intents: [Intent.GuildMembers],
      schema: z.object({ user: z.object({ id: z.string() }) }),
      handle({ user }) {
        roles.push(user.id);
        throw new Error("a listener beside the guild state");
      },
    }),
  ]);
  const { guild, ann, rogue, state, discord } = stand;
  guild.ban(rogue);
  guild.setNick(ann, "Ann");
  await until(() => roles.length === 1 && state.members(ann.id)[0]?.nick === "Ann");
  expect(bans).toEqual([rogue.id]);
  await until(() => discord.eventFaults().count === 3);
  expect(isLive(stand)).toBe(true);
});

test("events of servers that are not served reach no listener", async () => {
  const bans: Ban[] = [];
  const options = { served: new Set(["100000000000000001"]), listeners: [onBan((ban) => void bans.push(ban))] };
  const { sandbox, ...stand } = await createStand({ discord: options });
  const guild = sandbox.createGuild({ name: "Elsewhere" });
  const [rogue] = guild.addMembers(1);
  await goLive({ sandbox, ...stand });
  guild.ban(rogue!);
  await until(() => sandbox.gatewayLog.some(({ t }) => t === "GUILD_BAN_ADD"));
  await sandbox.caughtUp();
  expect(bans).toEqual([]);
});

test("before it is served the bot acts already, but does not connect; it is served once", async () => {
  const sandbox = await startSandbox();
  const env = sandbox.env();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const [ann] = guild.addMembers(1);
  const discord = createDiscord({
    apiBase: env.DISCORD_API_BASE,
    token: env.DISCORD_TOKEN,
    clientId: env.DISCORD_CLIENT_ID,
    served: new Set([guild.id]),
    logger: createLog().logger,
  });
  onTestFinished(() => discord.stop());
  const nickname = { kind: "nickname", id: "1", reason: "", guildId: guild.id, userId: ann!.id, nickname: "Ann" } as const;
  expect(await discord.actions.perform(nickname)).toMatchObject({ outcome: "done", changed: true });
  expect(discord.status().state).toBe("connecting");
  expect(() => discord.start()).toThrow("has to be served");
  const { state, discord: served } = await createStand({ sandbox });
  expect(() => served.serve({ commands: [], actorOf: stranger, guildState: state })).toThrow("served already");
});
