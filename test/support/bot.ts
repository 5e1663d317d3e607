import type { Discord } from "../../src/discord/client.ts";

/** The bot counts as not connected, so that what is left for it waits, until the returned function is called. */
export function pauseBot(discord: Discord): () => void {
  const { status } = discord;
  discord.status = () => ({ ...status(), state: "connecting" });
  return () => void (discord.status = status);
}
