import { ApplicationFlags, GatewayCloseCodes } from "discord-api-types/v10";
import { fatalClose, tokenInstruction } from "../../discord/gateway/close-codes.ts";
import { otherApplication } from "../../discord/guild/settings-check.ts";
import { createDiscordOAuth, OAuthRefusal } from "../../discord/oauth.ts";
import { createClockCheck, type DiscordRest } from "../../discord/rest/rest.ts";
import { systemClock } from "../../kernel/clock.ts";
import { fail, pass, skip, warn, type Finding } from "../findings.ts";
import type { Application, Ground } from "./ground.ts";

/** What Discord says of the bot, once it has taken the token. */
export interface Bot {
  rest: DiscordRest;
  selfId: string;
  application: Application;
}

/** A check that needs the bot; where Discord cannot be asked, it is not made. */
export function ofBot(check: (bot: Bot, ground: Ground) => Finding[] | Promise<Finding[]>): (ground: Ground) => Promise<Finding[]> {
  return async (ground) => {
    const seen = await ground.discord();
    if (seen.state === "away") return [skip("Discord cannot be asked")];
    if (seen.isTokenRefused) return [skip("Discord refuses the token")];
    return check(seen, ground);
  };
}

export async function discord({ discord: ask, config }: Ground): Promise<Finding[]> {
  const seen = await ask();
  const { apiBase } = config.discord;
  if (seen.state === "there") return [pass(`${apiBase} answers`)];
  return [
    fail(
      `Discord does not answer at ${apiBase} (${seen.reason}), so no person can use the bot, and what needs Discord was not checked: check the network of this machine and its firewall, or look at https://discordstatus.com.`,
    ),
  ];
}

/** The clock of this machine, against the time of Discord's answers. */
export async function clock({ discord: ask }: Ground): Promise<Finding[]> {
  const seen = await ask();
  if (seen.state === "away") return [skip("Discord cannot be asked")];
  const texts: string[] = [];
  createClockCheck({ clock: systemClock, logger: { warn: (_: unknown, text?: string) => void texts.push(text ?? "") } }).answered(
    seen.date,
  );
  return texts.length === 0 ? [pass("that of Discord")] : texts.map(warn);
}

export async function token({ discord: ask, config }: Ground): Promise<Finding[]> {
  const seen = await ask();
  if (seen.state === "away") return [skip("Discord cannot be asked")];
  if (seen.isTokenRefused) return [fail(tokenInstruction)];
  const { clientId } = config.discord;
  const { id } = seen.application;
  return [id === clientId ? pass(`of the application ${id}`) : fail(otherApplication(clientId, id))];
}

/** The secret goes with the application of the token: that the id is another one is told of already. */
export const clientSecret = ofBot(async ({ application }, { config, secrets }) => {
  const texts: string[] = [];
  const oauth = createDiscordOAuth({
    apiBase: config.discord.apiBase,
    clientId: application.id,
    clientSecret: secrets.discordClientSecret,
    logger: { error: (_: unknown, text?: string) => void texts.push(text ?? "") },
  });
  try {
    await oauth.checkClient();
    return [pass("Discord takes it")];
  } catch (error) {
    if (texts.length > 0) return texts.map(fail);
    return [skip(error instanceof OAuthRefusal ? `Discord does not tell (${error.message})` : "Discord cannot be asked now")];
  }
});

const members = ApplicationFlags.GatewayGuildMembers | ApplicationFlags.GatewayGuildMembersLimited;
const content = ApplicationFlags.GatewayMessageContent | ApplicationFlags.GatewayMessageContentLimited;

export const intents = ofBot(({ application: { flags } }) => {
  if ((flags & members) === 0) return [fail(fatalClose(GatewayCloseCodes.DisallowedIntents))];
  return [
    pass(`Server Members Intent is on; Message Content Intent, for messages as evidence, is ${(flags & content) === 0 ? "off" : "on"}`),
  ];
});

/** Where Discord leads people back to after they have agreed. */
export const redirect = ofBot(({ application }, { config }) => {
  const address = `${config.http.publicUrl}/authorize/callback`;
  if (application.redirect_uris === undefined) return [skip("Discord does not tell the redirect addresses")];
  if (application.redirect_uris.includes(address)) return [pass(address)];
  return [
    fail(
      `The application does not have the redirect address ${address}, so nobody can agree to be checked or see their own data: add it on the OAuth2 page of the Discord developer portal, or set PUBLIC_URL to the address that is there.`,
    ),
  ];
});
