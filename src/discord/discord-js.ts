/** The parts of discord.js that are used without a connection to the gateway. */
export { DefaultUserAgent, DiscordAPIError, HTTPError, RateLimitError, REST, SimpleIdentifyThrottler } from "discord.js";
