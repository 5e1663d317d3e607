import { OAuth2Scopes, PermissionFlagsBits } from "discord-api-types/v10";
import type { Guild, User, World } from "./model.ts";
import type { Grants } from "./oauth-grants.ts";
import { permissionsOf } from "./permissions.ts";
import type { Call, Reply, Route } from "./rest/route.ts";
import { addBot } from "./world-guilds.ts";

const knownScopes = new Set<string>(Object.values(OAuth2Scopes));

/** A checked authorization request. Without a redirect address only the bot is being invited. */
type Asked = { scopes: string[]; redirectUri: string | null; state: string | null; challenge: string | null };

const problem = (text: string): Reply => ({ status: 400, html: messagePage("Cannot authorize", text) });

/** The page a user sees, and the form it sends back. Errors go to the redirect address only once that is known to be allowed. */
export function authorizeRoutes(world: World, grants: Grants): Route[] {
  return [
    {
      method: "GET",
      path: "/oauth2/authorize",
      auth: "none",
      handle(call) {
        const asked = check(world, call, call.query);
        if ("status" in asked) return asked;
        const invites = asked.scopes.includes("bot");
        const users = [...world.users.values()].filter((user) => !user.bot);
        return {
          status: 200,
          html: authorizePage({
            applicationName: world.application.name,
            scopes: asked.scopes,
            query: call.query,
            users: users.slice(0, 200),
            guilds: invites ? [...world.guilds.values()] : [],
          }),
        };
      },
    },
    {
      method: "POST",
      path: "/oauth2/authorize",
      auth: "none",
      handle: (call) => decide(world, grants, call),
    },
  ];
}

function check({ application }: World, call: Call, query: URLSearchParams): Asked | Reply {
  if (query.get("client_id") !== application.id) return problem("Unknown application.");
  const scopes = (query.get("scope") ?? "").split(/\s+/).filter(Boolean);
  const redirectUri = query.get("redirect_uri");
  if (redirectUri === null && !scopes.includes("bot")) return problem("Missing OAuth2 redirect_uri.");
  if (redirectUri !== null && !application.redirectUris.has(redirectUri))
    return problem("Invalid OAuth2 redirect_uri. It must equal one of the application's redirect addresses.");
  const state = query.get("state");
  const challenge = query.get("code_challenge");
  const asked: Asked = { scopes, redirectUri, state, challenge };
  const refuse = (error: string, text: string) => back(call, asked, { error, error_description: text });
  if (redirectUri !== null && query.get("response_type") !== "code")
    return refuse("unsupported_response_type", "Only the response type code is supported.");
  if (scopes.length === 0 || scopes.some((scope) => !knownScopes.has(scope)))
    return refuse("invalid_scope", "The requested scope is invalid, unknown, or malformed.");
  if (challenge !== null && query.get("code_challenge_method") !== "S256")
    return refuse("invalid_request", "Only the code challenge method S256 is supported.");
  return asked;
}

/** Back to the application with the given answer, the state passed through and the issuer named (RFC 9207). */
function back(call: Call, asked: Asked, answer: Record<string, string>): Reply {
  if (asked.redirectUri === null) return problem(answer["error_description"] ?? "The request is invalid.");
  const url = new URL(asked.redirectUri);
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value);
  if (asked.state !== null) url.searchParams.set("state", asked.state);
  url.searchParams.set("iss", call.origin);
  return { status: 302, headers: { Location: url.href, "Cache-Control": "no-store" } };
}

function decide(world: World, grants: Grants, call: Call): Reply {
  const form = (call.body ?? {}) as Record<string, string>;
  const asked = check(world, call, new URLSearchParams(form));
  if ("status" in asked) return asked;
  if (form["decision"] !== "authorize")
    return back(call, asked, {
      error: "access_denied",
      error_description: "The resource owner or authorization server denied the request",
    });
  const user = world.users.get(form["user_id"] ?? "");
  if (!user || user.bot) return problem("Choose who is signed in.");
  const invited = asked.scopes.includes("bot") ? invite(world, user, form["guild_id"]) : undefined;
  if (invited === "refused") return problem("Choose a server that you manage.");
  const { scopes, redirectUri, challenge } = asked;
  if (redirectUri === null) return { status: 200, html: messagePage("Authorized", "You may close this page.") };
  const code = grants.openCode({ user, scopes, redirectUri, challenge });
  return back(call, asked, { code, ...(invited && { guild_id: invited.id }) });
}

/** Adds the bot to a guild the user manages. */
function invite(world: World, user: User, guildId: string | undefined): Guild | "refused" {
  const guild = world.guilds.get(guildId ?? "");
  const member = guild?.members.get(user.id);
  if (!guild || !member) return "refused";
  if (!(permissionsOf(guild, member, world.now()) & PermissionFlagsBits.ManageGuild)) return "refused";
  addBot(world, guild);
  return guild;
}

const scopeWords: Record<string, string> = {
  identify: "See your username, avatar and banner",
  email: "See your email address",
  guilds: "Know what servers you are in",
  "guilds.members.read": "Read your member info (nickname, roles) in your servers",
  "guilds.join": "Join servers for you",
  bot: "Add a bot to a server",
  "applications.commands": "Create commands in a server",
};

const escaped: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text: string) => text.replace(/[&<>"']/g, (character) => escaped[character] as string);

const page = (title: string, body: string) => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escape(title)}</title></head>
<body><p role="note">Local sandbox - not Discord</p><main><h1>${escape(title)}</h1>${body}</main></body>
</html>`;

/** A page that only says something. */
export const messagePage = (title: string, text: string) => page(title, `<p>${escape(text)}</p>`);

const select = (name: string, label: string, options: readonly { id: string; text: string }[]) =>
  `<p><label for="${name}">${escape(label)}</label>
<select id="${name}" name="${name}" required>${options
    .map(({ id, text }) => `<option value="${escape(id)}">${escape(text)}</option>`)
    .join("")}</select></p>`;

/** The consent form: a plain form that needs no script. The request travels along in hidden fields and is checked again. */
export function authorizePage(view: {
  applicationName: string;
  scopes: readonly string[];
  query: URLSearchParams;
  users: readonly User[];
  guilds: readonly Guild[];
}): string {
  const hidden = [...view.query].map(([name, value]) => `<input type="hidden" name="${escape(name)}" value="${escape(value)}">`);
  const users = view.users.map((user) => ({ id: user.id, text: user.global_name ?? user.username }));
  const guilds = view.guilds.map((guild) => ({ id: guild.id, text: guild.name }));
  return page(
    `Authorize ${view.applicationName}`,
    `<p>${escape(view.applicationName)} wants to:</p>
<ul>${view.scopes.map((scope) => `<li>${escape(scopeWords[scope] ?? scope)}</li>`).join("")}</ul>
<form method="post">
${hidden.join("\n")}
${select("user_id", "Signed in as", users)}
${guilds.length > 0 ? select("guild_id", "Add to server", guilds) : ""}
<p><button type="submit" name="decision" value="authorize">Authorize</button>
<button type="submit" name="decision" value="cancel">Cancel</button></p>
</form>`,
  );
}
