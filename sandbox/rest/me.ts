import { ApplicationFlags, GatewayIntentBits, OAuth2Scopes } from "discord-api-types/v10";
import { unauthorized, unknown } from "../errors.ts";
import { compareIds } from "../ids.ts";
import type { Guild, Member, User, World } from "../model.ts";
import { memberPayload, permissionString, userPayload } from "../payloads.ts";
import { integerQuery, ok, param, snowflakeQuery, type Auth, type Call, type Route } from "./route.ts";

/** Application flags that tell which privileged intents are switched on (the form for fewer than 100 guilds). */
const intentFlags = [
  [GatewayIntentBits.GuildPresences, ApplicationFlags.GatewayPresenceLimited],
  [GatewayIntentBits.GuildMembers, ApplicationFlags.GatewayGuildMembersLimited],
  [GatewayIntentBits.MessageContent, ApplicationFlags.GatewayMessageContentLimited],
] as const;

/** What a caller may ask about itself: the bot, or a user through the scopes it allowed. */
export function meRoutes(world: World): Route[] {
  const { application } = world;
  return [
    {
      method: "GET",
      path: "/users/@me",
      auth: "any",
      handle({ auth }) {
        const user = subject(world, auth, OAuth2Scopes.Identify);
        return ok({ ...userPayload(user), mfa_enabled: false, locale: "en-US", premium_type: 0 });
      },
    },
    { method: "GET", path: "/users/@me/guilds", auth: "any", handle: (call) => ok(listGuilds(world, call)) },
    {
      method: "GET",
      path: "/users/@me/guilds/{guild_id}/member",
      auth: "bearer",
      handle(call) {
        const user = subject(world, call.auth, OAuth2Scopes.GuildsMembersRead);
        const guild = world.guilds.get(param(call, "guild_id"));
        const member = guild?.members.get(user.id);
        if (!guild || !member) throw unknown("Guild");
        return ok({ ...memberPayload(member), permissions: permissionString(world, guild, member) });
      },
    },
    {
      method: "GET",
      path: "/oauth2/@me",
      auth: "bearer",
      handle({ auth }) {
        if (auth.kind !== "bearer") throw unauthorized();
        const { user, scopes, expiresAt } = auth.grant;
        const identified = scopes.includes(OAuth2Scopes.Identify) && { user: userPayload(user) };
        return ok({
          application: applicationPayload(world),
          expires: new Date(expiresAt).toISOString(),
          scopes,
          ...identified,
        });
      },
    },
    ...(["/applications/@me", "/oauth2/applications/@me"] as const).map((path): Route => ({
      method: "GET",
      path,
      auth: "bot",
      handle: () => ok({ ...applicationPayload(world), ...privateFields(world, application.bot) }),
    })),
  ];
}

/** Who the call speaks for; a bearer token without the scope is refused as if it were unknown. */
function subject(world: World, auth: Auth, scope: OAuth2Scopes): User {
  if (auth.kind === "bot") return world.application.bot;
  if (auth.kind !== "bearer" || !auth.grant.scopes.includes(scope)) throw unauthorized();
  return auth.grant.user;
}

/** At most 200 guilds in order of id, as Discord pages them. */
function listGuilds(world: World, call: Call) {
  const user = subject(world, call.auth, OAuth2Scopes.Guilds);
  const limit = integerQuery(call, "limit", { min: 1, max: 200, fallback: 200 });
  const after = snowflakeQuery(call, "after");
  const before = snowflakeQuery(call, "before");
  const found: { guild: Guild; member: Member }[] = [];
  for (const guild of world.guilds.values()) {
    const member = guild.members.get(user.id);
    if (!member) continue;
    if (after !== undefined && compareIds(guild.id, after) <= 0) continue;
    if (before !== undefined && compareIds(guild.id, before) >= 0) continue;
    found.push({ guild, member });
  }
  found.sort((a, b) => compareIds(a.guild.id, b.guild.id));
  const page = before !== undefined && after === undefined ? found.slice(-limit) : found.slice(0, limit);
  const counted = call.query.get("with_counts") === "true";
  return page.map(({ guild, member }) => ({
    id: guild.id,
    name: guild.name,
    icon: guild.icon,
    banner: null,
    owner: guild.ownerId === user.id,
    permissions: permissionString(world, guild, member),
    features: [],
    ...(counted && {
      approximate_member_count: guild.members.size,
      approximate_presence_count: guild.members.size,
    }),
  }));
}

const applicationPayload = ({ application }: World) => {
  const flags = intentFlags.reduce((sum, [intent, flag]) => (application.privilegedIntents & intent ? sum | flag : sum), 0);
  return {
    id: application.id,
    name: application.name,
    icon: null,
    description: "",
    type: null,
    bot: userPayload(application.bot),
    bot_public: true,
    bot_require_code_grant: false,
    verify_key: "0".repeat(64),
    flags,
    flags_new: flags.toString(),
    integration_types_config: { "0": {} },
  };
};

const privateFields = ({ application, guilds }: World, owner: User) => ({
  redirect_uris: [...application.redirectUris],
  interactions_endpoint_url: null,
  role_connections_verification_url: null,
  owner: userPayload(owner),
  approximate_guild_count: [...guilds.values()].filter((guild) => guild.members.has(application.bot.id)).length,
  approximate_user_install_count: 0,
  approximate_user_authorization_count: 0,
  explicit_content_filter: 0,
  team: null,
  eligible_oauth2_scopes: [OAuth2Scopes.Identify, OAuth2Scopes.Guilds, OAuth2Scopes.GuildsMembersRead],
});
