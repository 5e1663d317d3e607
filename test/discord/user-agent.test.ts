// @module-tag sqlite
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { GatewayIntentBits } from "discord.js";
import { calculatePKCECodeChallenge } from "oauth4webapi";
import { expect, onTestFinished, test } from "vitest";
import { createGround } from "../../src/cli/doctor/ground.ts";
import { readConfig } from "../../src/config/config.ts";
import { createAttachments } from "../../src/discord/rest/attachments.ts";
import { readInvite } from "../../src/discord/rest/plain-requests.ts";
import { createDiscordOAuth } from "../../src/discord/oauth.ts";
import { version } from "../../src/version.ts";
import { validEnvironment } from "../config/environment.ts";
import { createStand, goLive } from "./support.ts";

/** What Discord asks every client to begin with, and the product somewhere after it. */
const ours = new RegExp(String.raw`^DiscordBot \(https://\S+, \d[\d.]*\) .*\bprovost/${version.replaceAll(".", String.raw`\.`)}$`);

test("every kind of call to Discord begins its User-Agent as Discord asks, and names the product and its version", async () => {
  const page = createServer((_request, response) => response.end("back")).listen(0, "127.0.0.1");
  await once(page, "listening");
  onTestFinished(() => void page.close());
  const redirectUri = `http://127.0.0.1:${(page.address() as AddressInfo).port.toString()}/authorize/callback`;
  const command = { payload: { name: "ping", description: "Ping" }, run: () => ({ content: "pong" }) };
  const stand = await createStand({ sandbox: { redirectUris: [redirectUri] }, discord: { commands: [command] } });
  const { sandbox, discord } = stand;
  sandbox.setPrivilegedIntents(GatewayIntentBits.GuildMembers | GatewayIntentBits.MessageContent);
  const guild = sandbox.createGuild({ name: "Harbour" });
  const ann = sandbox.createUser("ann");
  guild.addMember(ann, { roles: [guild.createRole("staff", { permissions: ["Administrator"] })] });
  await goLive(stand);
  await sandbox.waitFor(() => sandbox.inside.world.application.commands.size > 0);

  const run = await sandbox.as(ann).in(guild).runSlashCommand("ping");
  expect((await run.reply()).content).toBe("pong");
  const posted = sandbox
    .as(ann)
    .in(guild)
    .post({ attachments: [{ name: "a.txt", bytes: Buffer.from("a") }] });
  const found = await discord.messages.fetch(posted.channelId, posted.id, null);
  if (typeof found === "string") throw new Error(found);
  const { apiBase } = sandbox;
  const opened = await createAttachments({ apiBase }).open(found.files[0]!.url, AbortSignal.timeout(5000));
  opened?.resume();
  expect(await readInvite(apiBase)(guild.createInvite())).toMatchObject({ serverId: guild.id });

  const env = sandbox.env();
  const oauth = createDiscordOAuth({ apiBase, clientId: env.DISCORD_CLIENT_ID, clientSecret: env.DISCORD_CLIENT_SECRET });
  const codeVerifier = "v".repeat(64);
  const codeChallenge = await calculatePKCECodeChallenge(codeVerifier);
  const url = oauth.authorizeUrl({ state: "state-1", codeChallenge, scopes: ["identify", "guilds"], redirectUri });
  const { redirectedTo } = await sandbox.as(ann).authorize(url, { approve: true });
  const first = await oauth.exchange({ callbackUrl: new URL(redirectedTo), expectedState: "state-1", codeVerifier, redirectUri });
  const tokens = await oauth.refresh(first.refreshToken);
  await oauth.me(tokens.accessToken);
  await oauth.guilds(tokens.accessToken);
  await oauth.revoke(tokens.accessToken);
  const settings = readConfig({ ...validEnvironment(), ...env });
  if (!settings.ok) throw new Error(settings.lines.join());
  const ground = createGround(settings);
  expect(await ground.discord()).toMatchObject({ state: "there", isTokenRefused: false });
  await ground.close();

  // The authorization page is the person's own browser.
  const calls = sandbox.callers.filter(({ path }) => !path.endsWith("/oauth2/authorize"));
  for (const kind of [
    /\/gateway\/bot$/,
    /\/gateway$/,
    /\/applications\/@me$/,
    /\/applications\/\d+\/commands$/,
    /\/interactions\/\d+\/.+\/callback$/,
    /\/webhooks\/\d+\/.+\/messages\/@original$/,
    /\/channels\/\d+\/messages\/\d+$/,
    /^\/attachments\//,
    /\/invites\//,
    /\/\.well-known\/oauth-authorization-server$/,
    /\/oauth2\/token$/,
    /\/oauth2\/token\/revoke$/,
    /\/users\/@me$/,
    /\/users\/@me\/guilds$/,
  ])
    expect(
      calls.some(({ path }) => kind.test(path)),
      kind.source,
    ).toBe(true);
  expect(calls.filter(({ userAgent }) => !ours.test(userAgent))).toEqual([]);
});
