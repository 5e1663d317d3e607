import type { AuthorizationView, RefreshView, SessionCreatedView } from "../features/authorization/authorization.schema.ts";
import type { MatchView, UserServerView } from "../features/intelligence/intelligence.schema.ts";
import type { List, Problem, Single, Stage } from "./stage.ts";

export async function authorize({ ask, check, say, sandbox }: Stage): Promise<void> {
  const { rogue, mona, helen } = sandbox.seeded.users;
  await ask("GET", `/users/${rogue.id}/servers`, { expect: 409 });
  const open = async (): Promise<string> =>
    (await ask<SessionCreatedView>("POST", "/authorize/sessions", { actor: mona.id, body: { discord_user_id: rogue.id }, expect: 201 }))
      .body.url;
  const done = await sandbox.as(rogue).authorize(await open(), { approve: true });
  for (const { method, url, status } of done.hops) say(`   browser: ${method} ${withoutSecrets(url)} -> ${status.toString()}`);
  check("the person ended on our page", done.status === 200 && done.redirectedTo.endsWith("/authorize/result/done"));
  const wrong = await sandbox.as(helen).authorize(await open(), { approve: true });
  check("another account that finishes a session is refused", wrong.redirectedTo.endsWith("/authorize/result/wrong-account"));
}

export async function readServers({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue, mona } = sandbox.seeded.users;
  const { status } = (await ask<Single<AuthorizationView>>("GET", `/users/${rogue.id}/authorization`)).body.data;
  check("the grant is active", status === "active");
  const servers = (await ask<List<UserServerView>>("GET", `/users/${rogue.id}/servers`, { actor: mona.id })).body.data;
  check("three servers are known", servers.length === 3);
}

export async function readMatches({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue, mona } = sandbox.seeded.users;
  const [match, ...others] = (await ask<List<MatchView>>("GET", `/users/${rogue.id}/matches`, { actor: mona.id })).body.data;
  check("one match, with the rule that fired", match?.kind === "server_blacklist" && match.why.length > 0 && others.length === 0);
}

export async function resolveMatch({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue, olivia } = sandbox.seeded.users;
  const path = `/users/${rogue.id}/matches`;
  const [match] = (await ask<List<MatchView>>("GET", path, { actor: olivia.id })).body.data;
  const body = { outcome: "acknowledge", reason: "Asked the person to leave." };
  const { status } = (await ask<Single<MatchView>>("POST", `${path}/${match?.id ?? ""}/resolution`, { actor: olivia.id, body })).body.data;
  check("a person's word about it is kept", status === "acknowledged");
}

/** Last of all: what was read is gone at once. */
export async function takeBack({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue } = sandbox.seeded.users;
  const { status } = (await ask<Single<AuthorizationView>>("DELETE", `/users/${rogue.id}/authorization`, { actor: rogue.id })).body.data;
  check("the grant is over", status === "revoked");
  await ask("GET", `/users/${rogue.id}/servers`, { expect: 409 });
}

export async function refresh({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue, mona, olivia } = sandbox.seeded.users;
  const path = `/users/${rogue.id}/refresh`;
  const done = (await ask<Single<RefreshView>>("POST", path, { actor: olivia.id, body: { force: true } })).body.data;
  check("three servers still", done.servers.total === 3);
  const again = (await ask<Problem>("POST", path, { actor: mona.id, expect: 429 })).body;
  check(`a second one has to wait (${again.code})`, again.code === "refresh_cooldown");
}

function withoutSecrets(url: string): string {
  return url.replace(/\?.*/, "?…").replace(/(authorize\/)[\w-]{30,}/, "$1…");
}
