import { GatewayIntentBits, GatewayOpcodes, type GatewayRateLimitedDispatchData } from "discord-api-types/v10";
import type { Session } from "./gateway-session.ts";
import type { Guild, Member, World } from "./model.ts";
import { memberChunk } from "./payloads.ts";
import { textOf } from "./text.ts";

const chunkSize = 1000;

type Request = { guild_id?: unknown; query?: unknown; limit?: unknown; user_ids?: unknown; nonce?: unknown };

/**
 * Answers "request guild members" (op 8) with chunks of exactly 1,000, one per turn of the event loop.
 * The full list is given once per guild, session and window; sooner requests get RATE_LIMITED.
 * @param windowMs the window in milliseconds
 * @param ready settles when the link can take more
 */
export async function answerMemberRequest(
  world: World,
  session: Session,
  data: unknown,
  { windowMs, ready }: { windowMs: number; ready: () => Promise<void> },
): Promise<void> {
  const request = (data ?? {}) as Request;
  const guild = world.guilds.get(textOf(request.guild_id));
  if (!guild?.members.has(world.application.bot.id) || guild.unavailable) return;
  const nonce = typeof request.nonce === "string" && request.nonce.length <= 32 ? request.nonce : undefined;
  const whole = request.user_ids === undefined && request.query === "" && request.limit === 0;
  if (whole) {
    if (!(session.intents & GatewayIntentBits.GuildMembers)) return;
    const wait = (session.memberRequests.get(guild.id) ?? -Infinity) + windowMs - world.now();
    if (wait > 0) {
      session.dispatch("RATE_LIMITED", limited(guild, wait / 1000, nonce));
      return;
    }
    session.memberRequests.set(guild.id, world.now());
    await streamAll(session, guild, nonce, ready);
    return;
  }
  const { members, notFound } = select(guild, request);
  const part = { index: 0, count: 1, ...(nonce !== undefined && { nonce }), ...(notFound && { notFound }) };
  session.dispatch("GUILD_MEMBERS_CHUNK", memberChunk(guild, members, part));
}

const limited = (guild: Guild, seconds: number, nonce: string | undefined) =>
  ({
    opcode: GatewayOpcodes.RequestGuildMembers,
    retry_after: seconds,
    meta: { guild_id: guild.id, ...(nonce !== undefined && { nonce }) },
  }) satisfies GatewayRateLimitedDispatchData;

async function streamAll(session: Session, guild: Guild, nonce: string | undefined, ready: () => Promise<void>): Promise<void> {
  const { link } = session;
  const count = Math.max(1, Math.ceil(guild.members.size / chunkSize));
  let after = "0";
  for (let index = 0; index < count; index++) {
    await ready();
    // A client that went away does not get the rest when it comes back.
    if (session.link !== link) return;
    const members = guild.members.page(after, chunkSize);
    after = members.at(-1)?.user.id ?? after;
    const part = { index, count, ...(nonce !== undefined && { nonce }) };
    session.dispatch("GUILD_MEMBERS_CHUNK", memberChunk(guild, members, part));
  }
}

/** By ids (at most 100, the missing ones named) or by the start of a name (at most 100). */
function select(guild: Guild, request: Request): { members: Member[]; notFound?: string[] } {
  if (request.user_ids !== undefined) {
    const ids = [request.user_ids].flat().slice(0, chunkSize / 10) as string[];
    const members = ids.map((id) => guild.members.get(id)).filter((member) => member !== undefined);
    return { members, notFound: ids.filter((id) => !guild.members.has(id)) };
  }
  const limit = typeof request.limit === "number" ? Math.min(request.limit, 100) : 0;
  if (typeof request.query !== "string" || limit < 1) return { members: [] };
  return { members: guild.members.search(request.query, limit) };
}
