import { z } from "zod";
import { ProblemError } from "../kernel/errors.ts";
import { deadline, fetchAnswer } from "./oauth-answers.ts";
import { unavailable } from "./rest-errors.ts";
import { userAgent } from "./user-agent.ts";

const GuildInvite = z.object({ type: z.literal(0), guild: z.object({ id: z.string(), name: z.string() }) });
/** Into a group of direct messages, or to a friend. */
const OtherInvite = z.object({ type: z.union([z.literal(1), z.literal(2)]) });
const Invite = z.union([GuildInvite, OtherInvite]);

/** Discord's answers to a code that leads nowhere, and to one that can be none. */
const nowhere = new Set([400, 404]);

/**
 * Look up what an invite leads to, without any credentials. An invite that leads to no server is null, like one that is not valid.
 * The look-up throws ProblemError discord_unavailable without a usable answer, discord_error for an answer nobody understands.
 * @param apiBase with the `/api` part and without a slash at the end
 */
export function readInvite(apiBase: string): (code: string) => Promise<{ serverId: string; name: string } | null> {
  return async (code) => {
    const address = `${apiBase}/v10/invites/${encodeURIComponent(code)}`;
    const response = await fetchAnswer(() =>
      fetch(address, { headers: { "user-agent": userAgent }, signal: deadline(), redirect: "manual" }),
    );
    if (response.status !== 200) {
      await response.body?.cancel();
      if (nowhere.has(response.status)) return null;
      throw unavailable(5000);
    }
    const invite = Invite.safeParse(parsed(await response.text().catch((error: unknown) => Promise.reject(unavailable(5000, error)))));
    if (!invite.success) throw new ProblemError("discord_error", { detail: "Discord's answer was not understood." });
    return invite.data.type === 0 ? { serverId: invite.data.guild.id, name: invite.data.guild.name } : null;
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
