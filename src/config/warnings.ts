import type { Config } from "./config.ts";
import { isLoopback } from "./values.ts";

/** What is valid but will not do what an operator wants, in words for them. */
export function configWarnings({ discord, http }: Config): string[] {
  const isLive = !isLoopback(new URL(discord.apiBase).hostname);
  const isLocal = isLoopback(new URL(http.publicUrl).hostname);
  if (!isLive || !isLocal) return [];
  return [
    `PUBLIC_URL is ${http.publicUrl}, which opens on this machine alone: nobody else can follow a link to the consent page. Set PUBLIC_URL to the https address of this service.`,
  ];
}
