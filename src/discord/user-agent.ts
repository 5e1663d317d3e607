import { DefaultUserAgent } from "discord.js";
import { version } from "../version.ts";

/** What discord.js puts behind its own part of the User-Agent. */
export const userAgentAppendix = `provost/${version}`;

/** Who calls, in the form Discord asks of every client: calls without it may be blocked as a whole. */
export const userAgent = `${DefaultUserAgent} ${userAgentAppendix}`;
