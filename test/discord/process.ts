import { pino } from "pino";
import { createDiscord } from "../../src/discord/client.ts";

/** A process whose only life is the link to Discord: it connects to the address given, is stopped, and must then end by itself. */
const [apiBase = "", token = "", waitFor = ""] = process.argv.slice(2);
const nothing = () => undefined;
const discord = createDiscord({
  apiBase,
  token,
  clientId: "100000000000000001",
  served: new Set(),
  logger: pino({ level: "silent" }),
  retryMs: 20,
});
discord.serve({
  commands: [],
  actorOf: () => ({
    id: "",
    isStaff: false,
    isOwner: false,
    rank: 0,
    isStale: () => false,
    decide: () => ({ allowed: false, reasons: [] }),
    heldUntil: () => undefined,
  }),
  guildState: {
    feed: { listeners: [], attach: nothing, alive: nothing, lost: nothing, stored: () => Promise.resolve(), stop: () => Promise.resolve() },
  },
});
discord.start();
const watch = setInterval(() => {
  if (discord.status().state !== waitFor) return;
  clearInterval(watch);
  process.stdout.write("reached\n");
}, 5);
const lossWatch = setInterval(() => {
  if (discord.status().reconnects === 0) return;
  clearInterval(lossWatch);
  process.stdout.write("lost\n");
}, 5).unref();
process.stdin.once("data", () => {
  process.stdin.destroy();
  void discord.stop().then(() => process.stdout.write("stopped\n"));
});
