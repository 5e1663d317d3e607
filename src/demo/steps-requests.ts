import type { WorkflowView } from "../features/workflows/requests/workflows.schema.ts";
import type { User } from "../sandbox/index.ts";
import type { Problem, Single, Stage } from "./stage.ts";

/** The answers the contract shows flat. */
interface Created {
  reference: string;
  status: string;
}
interface Decided {
  status: string;
  final: boolean;
  approvals: { have: number; required: number };
}

export async function blacklistServer({ ask, check, sandbox }: Stage): Promise<void> {
  const { guilds, users } = sandbox.seeded;
  const body = {
    server_id: guilds.quarry.id,
    server_name: guilds.quarry.name,
    category: "raiding",
    severity: "high",
    member_policy: "flag",
    reason: "Organised three raids on us this month.",
  };
  const made = (await ask<Created>("POST", "/workflows/blacklist-server", { actor: users.mona.id, body, expect: 201 })).body;
  check(`reference ${made.reference}, status ${made.status}`, made.reference === "BLS-REQ-000001" && made.status === "pending");
  const path = `/workflows/blacklist-server/${made.reference}/decision`;
  const refused = (await ask<Problem>("POST", path, { actor: users.mona.id, body: { decision: "approve" }, expect: 403 })).body;
  check(`the requester cannot decide (${refused.code})`, refused.code === "permission_denied");
  const first = (await ask<Decided>("POST", path, { actor: users.adam.id, body: { decision: "approve" } })).body;
  check("one of two approvals", !first.final && first.approvals.have === 1);
  const second = (await ask<Decided>("POST", path, { actor: users.olivia.id, body: { decision: "approved" } })).body;
  check("approved by the second", second.final && second.status === "approved");
  const asked = { actor: users.mona.id, body: { server_ids: [guilds.quarry.id] } };
  const found = (await ask<Single<{ servers: { listed: boolean }[] }>>("POST", "/blacklist/check", asked)).body.data;
  check("the server is listed", found.servers[0]?.listed === true);
}

export async function slashCommands(stage: Stage): Promise<void> {
  const { guilds, users } = stage.sandbox.seeded;
  const listed = await command(stage, users.adam, "blacklist check", { ids: guilds.quarry.id });
  stage.check("the answer names the record", listed.includes("BL-000001"));
  const access = await command(stage, users.adam, "staff access", { user: users.mona });
  stage.check("the answer names the level", access.includes("moderator"));
}

export async function secondDoor(stage: Stage): Promise<void> {
  const { ask, check, sandbox } = stage;
  const { users } = sandbox.seeded;
  const body = { user_id: users.rogue.id, category: "raid", severity: "high", reason: "Led the raids from Quarry." };
  const { reference } = (await ask<Created>("POST", "/workflows/blacklist-user", { actor: users.mona.id, body, expect: 201 })).body;
  const first = await command(stage, users.adam, "review approve", { reference });
  check("adam's vote is the first of two", first.includes("1 of 2"));
  const second = await command(stage, users.olivia, "review approve", { reference });
  check("approved in Discord", second.includes("approved"));
  const read = (await ask<Single<WorkflowView>>("GET", `/workflows/blacklist-user/${reference}`, { actor: users.adam.id })).body.data;
  check("REST tells the same", read.status === "approved" && read.decision?.by === users.olivia.id);
}

export async function everyKind({ ask, check, sandbox }: Stage): Promise<void> {
  const { guilds, users, residents } = sandbox.seeded;
  const [one, two] = residents.map(({ id }) => id);
  const bodies = {
    investigation: { subject: { kind: "user", id: one }, allegation: "Repeated pings after being asked to stop." },
    recruitment: { user_id: two, position: "moderator" },
    "server-merge": {
      source_server_id: guilds.lighthouse.id,
      target_server_id: guilds.harbour.id,
      effective_at: "2030-01-01T00:00:00.000Z",
    },
    "alt-request": { user_ids: [one, two], confidence: "suspected", basis: [{ type: "behaviour", note: "Same phrases, same hours." }] },
    punishment: { user_id: one, action: "warning", reason: "Pings after being asked to stop." },
    poach: {
      kind: "report",
      offending_server_id: guilds.quarry.id,
      victim_server_id: guilds.harbour.id,
      occurred_at: "2026-01-01T00:00:00.000Z",
      reason: "Offered roles to our moderators.",
    },
  };
  for (const [kind, body] of Object.entries(bodies)) {
    const { reference, status } = (await ask<Created>("POST", `/workflows/${kind}`, { actor: users.mona.id, body, expect: 201 })).body;
    check(reference, /^[A-Z]{3}-REQ-000001$/.test(reference) && status === "pending");
  }
}

/** Run a slash command as a person of the first guild, and say yes where it asks; answers the text of the reply. */
async function command({ sandbox, say }: Stage, person: User, words: string, options: Record<string, string | User>): Promise<string> {
  const started = performance.now();
  const run = await sandbox.as(person).in(sandbox.seeded.guilds.harbour).runSlashCommand(words, options);
  const asked = await run.reply();
  if (asked.components.length > 0) {
    // Where somebody it is about reads the reason, a form asks for it.
    if (JSON.stringify(asked.components).includes("Continue …")) await (await run.clickButton("Continue …")).submitModal({});
    else await run.clickButton("Yes, do it");
    await sandbox.waitFor(() => run.current()?.components.length === 0);
  }
  const content = run.current()?.content ?? asked.content;
  say(`   /${words} by ${person.username} -> ${(performance.now() - started).toFixed(0)} ms  ${content.replaceAll("\n", " | ")}`);
  return content;
}
