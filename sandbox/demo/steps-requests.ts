import type { User } from "../index.ts";
import type { Stage } from "./stage.ts";

export async function blacklistServer({ as, check, refused, sandbox }: Stage): Promise<void> {
  const { guilds, users } = sandbox.seeded;
  const body = {
    server_id: guilds.quarry.id,
    server_name: guilds.quarry.name,
    category: "raiding",
    severity: "high",
    member_policy: "flag",
    reason: "Organised three raids on us this month.",
  } as const;
  const { data: made } = await as(users.mona).POST("/workflows/blacklist-server", { body });
  check(`reference ${made.reference}, status ${made.status}`, made.reference === "BLS-REQ-000001" && made.status === "pending");
  const decide = (person: User) =>
    as(person).POST("/workflows/{type}/{website_id}/decision", {
      params: { path: { type: "blacklist-server", website_id: made.reference } },
      body: { decision: "approve" },
    });
  const { code } = await refused(403, decide(users.mona));
  check(`the requester cannot decide (${code})`, code === "permission_denied");
  const { data: first } = await decide(users.adam);
  check("one of two approvals", !first.final && first.approvals.have === 1);
  const { data: second } = await decide(users.olivia);
  check("approved by the second", second.final && second.status === "approved");
  const found = await as(users.mona).POST("/blacklist/check", { body: { server_ids: [guilds.quarry.id] } });
  check("the server is listed", found.data.data.servers[0]?.listed === true);
}

export async function slashCommands(stage: Stage): Promise<void> {
  const { guilds, users } = stage.sandbox.seeded;
  const listed = await command(stage, users.adam, "blacklist check", { ids: guilds.quarry.id });
  stage.check("the answer names the record", listed.includes("BL-000001"));
  const access = await command(stage, users.adam, "staff access", { user: users.mona });
  stage.check("the answer names the level", access.includes("moderator"));
}

export async function secondDoor(stage: Stage): Promise<void> {
  const { as, check, sandbox } = stage;
  const { users } = sandbox.seeded;
  const body = { user_id: users.rogue.id, category: "raid", severity: "high", reason: "Led the raids from Quarry." } as const;
  const { data: made } = await as(users.mona).POST("/workflows/blacklist-user", { body });
  const first = await command(stage, users.adam, "review approve", { reference: made.reference });
  check("adam's vote is the first of two", first.includes("1 of 2"));
  const second = await command(stage, users.olivia, "review approve", { reference: made.reference });
  check("approved in Discord", second.includes("approved"));
  const path = { type: "blacklist-user", id: made.reference };
  const { status, decision } = (await as(users.adam).GET("/workflows/{type}/{id}", { params: { path } })).data.data;
  check("REST tells the same", status === "approved" && decision?.by === users.olivia.id);
}

export async function everyKind({ as, check, sandbox }: Stage): Promise<void> {
  const { guilds, users, residents } = sandbox.seeded;
  const [one = "", two = ""] = residents.map(({ id }) => id);
  const { POST } = as(users.mona);
  const filed = [
    await POST("/workflows/investigation", {
      body: { subject: { kind: "user", id: one }, allegation: "Repeated pings after being asked to stop." },
    }),
    await POST("/workflows/recruitment", { body: { user_id: two, position: "moderator" } }),
    await POST("/workflows/server-merge", {
      body: { source_server_id: guilds.lighthouse.id, target_server_id: guilds.harbour.id, effective_at: "2030-01-01T00:00:00.000Z" },
    }),
    await POST("/workflows/alt-request", {
      body: { user_ids: [one, two], confidence: "suspected", basis: [{ type: "behaviour", note: "Same phrases, same hours." }] },
    }),
    await POST("/workflows/punishment", { body: { user_id: one, action: "warning", reason: "Pings after being asked to stop." } }),
    await POST("/workflows/poach", {
      body: {
        kind: "report",
        offending_server_id: guilds.quarry.id,
        victim_server_id: guilds.harbour.id,
        occurred_at: "2026-01-01T00:00:00.000Z",
        reason: "Offered roles to our moderators.",
      },
    }),
  ];
  for (const { data } of filed) check(data.reference, /^[A-Z]{3}-REQ-000001$/.test(data.reference) && data.status === "pending");
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
