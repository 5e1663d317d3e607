import type { Guild, User } from "./model.ts";

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
