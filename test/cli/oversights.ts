import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Oversight, put } from "./misconfigurations-ground.ts";

const elsewhere = "613425648685547520";

/** What the server says to at its start, or when it is first used, and goes on. */
export const oversights: Record<string, Oversight> = {
  "a variable that is mistyped": {
    prepare: () => ({ LOG_LEVL: "debug" }),
    warns: () => "LOG_LEVL is not a setting: did you mean LOG_LEVEL?",
  },
  "a variable of another bot": {
    prepare: () => ({ DISCORD_PREFIX: "!" }),
    warns: () => "DISCORD_PREFIX is not a setting: docs/configuration.md lists all of them. Remove it.",
  },
  "a server that the bot is not in": {
    prepare: ({ guild }) => ({ GUILD_IDS: `${guild.id},${elsewhere}` }),
    warns: ({ DISCORD_CLIENT_ID: id = "" }) =>
      `GUILD_IDS names the server ${elsewhere}, but the bot is not in it. Invite it with https://discord.com/oauth2/authorize?client_id=${id}&scope=bot+applications.commands&guild_id=${elsewhere}, or take the id out of GUILD_IDS and restart.`,
  },
  "the id of another application": {
    prepare: () => ({ DISCORD_CLIENT_ID: "80351110224678912", COMMANDS_REGISTER: "off" }),
    warns: () =>
      /^DISCORD_CLIENT_ID is 80351110224678912, but DISCORD_TOKEN belongs to the application \d+: commands are not registered, and nobody can agree to be checked\. Copy the id, the token and the client secret from the same application\.$/,
  },
  "a token that Discord refuses": {
    prepare: () => ({ DISCORD_TOKEN: "sandbox.hunter2.token" }),
    warns: () =>
      "the bot is not connected to Discord, and tries again only after a restart; HTTP goes on: Discord refuses the bot token. In the developer portal open Bot, reset the token, put the new one into `DISCORD_TOKEN`, then restart.",
  },
  "an intent that is off": {
    prepare: ({ sandbox }) => {
      sandbox.setPrivilegedIntents(0);
      return {};
    },
    warns: () =>
      "the bot is not connected to Discord, and tries again only after a restart; HTTP goes on: Discord refuses to show the bot the members of its servers. In the developer portal open Bot, switch on Server Members Intent under Privileged Gateway Intents, then restart.",
  },
  "a proxy that is not trusted": {
    prepare: () => ({}),
    ask: (url) => fetch(`${url}/livez`, { headers: { "x-forwarded-for": "203.0.113.9" } }),
    warns: () =>
      "A request came through a proxy (X-Forwarded-For), but TRUSTED_PROXIES is empty: everybody behind that proxy shares the limits of one address. If the proxy is yours, set TRUSTED_PROXIES to its address and restart.",
  },
  "an .env that others can read": {
    prepare: async ({ work }) => {
      await put(work, ".env", "LOG_LEVEL=info\n");
      await chmod(join(work.directory, ".env"), 0o644);
      return {};
    },
    warns: () => "other accounts of this machine could open these files; now only this account can",
  },
  "a data folder that others can open": {
    prepare: async ({ work }) => {
      await mkdir(join(work.directory, "data"), { mode: 0o755 });
      await chmod(join(work.directory, "data"), 0o755);
      return {};
    },
    warns: () => "other accounts of this machine could open these files; now only this account can",
  },
  "a clock that is three hours ahead": {
    prepare: async ({ work }) => {
      await put(
        work,
        "ahead.mjs",
        "const now = Date.now;\nglobalThis.Date = class extends Date {\n  constructor(...given) {\n    super(...(given.length === 0 ? [now() + 10_800_000] : given));\n  }\n  static now() {\n    return now() + 10_800_000;\n  }\n};\n",
      );
      return { NODE_OPTIONS: "--import=./ahead.mjs" };
    },
    warns: () =>
      "The clock of this machine is 3 hours ahead of Discord's: records and the audit get wrong times, and what has an end ends too early or too late. Set it by the network, such as with `timedatectl set-ntp true`, and restart.",
  },
};
