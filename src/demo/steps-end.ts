import type { AuditView } from "../features/audit/audit.schema.ts";
import type { AccessView } from "../features/staff/staff.schema.ts";
import type { List, Problem, Single, Stage } from "./stage.ts";

export async function refusals({ ask, check, sandbox }: Stage): Promise<void> {
  const { mona } = sandbox.seeded.users;
  const count = async (): Promise<number> => (await ask<List<unknown>>("GET", "/workflows?limit=200", { actor: mona.id })).body.data.length;
  const before = await count();
  const bad = await ask<Problem>("POST", "/workflows/blacklist-user", {
    actor: mona.id,
    body: { user_id: 42, category: "nonsense" },
    expect: 422,
  });
  const pointers = bad.body.errors.map(({ pointer }) => pointer);
  check(`pointers: ${pointers.join(" ")}`, pointers.includes("/user_id") && pointers.includes("/category"));
  const climb = { name: "Mine", rank: 99, level: "admin", discord: [] };
  await ask("PUT", "/staffroles/moderator", { actor: mona.id, body: climb, expect: 403 });
  const nobody = { subject: { kind: "user", id: mona.id }, allegation: "No acting user here." };
  await ask("POST", "/workflows/investigation", { body: nobody, expect: 403 });
  check("nothing was written", (await count()) === before);
}

export async function removeRole({ ask, peek, check, until, sandbox }: Stage): Promise<void> {
  const { guilds, users } = sandbox.seeded;
  const path = `/staff/${users.mona.id}/access`;
  await ask("GET", path);
  guilds.harbour.setRoles(users.mona, []);
  const isGone = async (): Promise<boolean> => !(await peek<Single<AccessView>>(path)).data.allowed;
  const took = await until(isGone, 1000, "the end of access");
  await ask("GET", path);
  check(`access ended ${took.toFixed(0)} ms after the role was removed in Discord`, took < 1000);
  const refused = (await ask<Problem>("GET", "/blacklist", { actor: users.mona.id, expect: 403 })).body;
  check(`and her calls are refused (${refused.code})`, refused.code === "acting_user_not_staff");
}

export async function audit({ ask, check, say, sandbox }: Stage): Promise<void> {
  const actor = sandbox.seeded.users.olivia.id;
  const entries = (await ask<List<AuditView>>("GET", "/audit?limit=200", { actor })).body.data;
  say(`   ${[...new Set(entries.map(({ action }) => action))].toSorted((a, b) => a.localeCompare(b)).join(", ")}`);
  const hasBoth = (["rest", "slash"] as const).every((door) => entries.some(({ via }) => via === door));
  check("decisions from both doors are in it", hasBoth);
  const verified = (await ask<Single<{ ok: boolean; entries: number }>>("GET", "/audit/verify", { actor })).body.data;
  check(`the chain of ${verified.entries.toString()} entries is whole`, verified.ok);
}
