import { say } from "../../kit/say.ts";
import { PermissionFlagsBits } from "discord-api-types/v10";
import { z } from "zod";
import { OAuthRefusal, type DiscordOAuth, type UserTokens } from "../../discord/oauth.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { showText } from "../../kernel/storable.ts";
import type { SeenServer } from "../intelligence/user-servers/user-servers.service.ts";

const Me = z.object({ id: Snowflake });
const Guilds = z
  .array(
    z.object({
      id: Snowflake,
      name: z.string().min(1).max(100).transform(showText),
      icon: z.string().max(100).nullable(),
      owner: z.boolean(),
      permissions: z.string().regex(/^\d{1,40}$/),
    }),
  )
  .max(200);

const managing = PermissionFlagsBits.Administrator | PermissionFlagsBits.ManageGuild;

/**
 * Whose token this is.
 * @throws OAuthRefusal discord_error when the answer has a wrong shape, and what the call throws
 */
export async function readAccount(oauth: DiscordOAuth, accessToken: string): Promise<string> {
  return checked(Me, await oauth.me(accessToken)).id;
}

/**
 * The servers of a token's account, with Discord's permission bits reduced to what the service needs; none without the scope.
 * @throws OAuthRefusal discord_error when the answer has a wrong shape, and what the call throws
 */
export async function readServers(
  oauth: DiscordOAuth,
  { accessToken, scopes }: Pick<UserTokens, "accessToken" | "scopes">,
): Promise<SeenServer[]> {
  if (!scopes.includes("guilds")) return [];
  const guilds = checked(Guilds, await oauth.guilds(accessToken));
  return guilds.map(({ id, name, icon, owner, permissions }) => ({ id, name, icon, relation: relationOf(owner, permissions) }));
}

function relationOf(isOwner: boolean, permissions: string): SeenServer["relation"] {
  if (isOwner) return "owner";
  return (BigInt(permissions) & managing) === 0n ? "member" : "manager";
}

function checked<T>(schema: z.ZodType<T>, answer: unknown): T {
  const result = schema.safeParse(answer);
  if (!result.success) throw new OAuthRefusal("discord_error", say("authorization.discords-answer-does-not-have-the-documented"));
  return result.data;
}
