import type { Pauses } from "../../src/core.ts";
import type { DiscordOptions } from "../../src/discord/client.ts";

/** The sandbox lets a session start whenever one is asked for: nothing has to keep the starts apart. */
export const startsAtOnce: NonNullable<DiscordOptions["buildThrottler"]> = () => ({ waitForIdentify: () => Promise.resolve() });

/** How a link that was lost comes back soon, where a test waits for it to be back and not for how long that takes. */
export const soonBack = { retryMs: 50, reconnectMs: 50, buildThrottler: startsAtOnce } satisfies Pauses["discord"];
