import { idIn, referenceIn, type Stage } from "../stage.ts";

import { systemCall } from "../../../src/kernel/call.ts";
import { uuid7 } from "../../../src/kernel/ids.ts";

const why = "Advertised in #trade after two reminders.";

/** Requests, reviews, cases and the callsigns and roster of the staff. */
export async function work(stage: Stage): Promise<void> {
  const { people, say, menu, begin, world } = stage;
  const { olivia, ada, sam, mona, vera, rogue, resident } = people;

  begin("request");
  const warning = referenceIn(await say(mona, "request punishment", { user: rogue, action: "warning" }, { form: { reason: why } }));
  await say(mona, "request punishment", { user: rogue, action: "warning" }, { form: { reason: why } });
  await say(mona, "request punishment", { user: mona, action: "warning" }, { form: { reason: why } });
  await say(mona, "request punishment", { user: resident, action: "suspension", duration: "soon" }, { form: { reason: why } });
  await say(vera, "request punishment", { user: rogue, action: "warning" });
  await menu(mona, "Request punishment", resident, { form: { reason: why, action: ["strike"] } });
  const listing = referenceIn(
    await say(
      mona,
      "request blacklist-user",
      { user: rogue, category: "ban_evasion", severity: "high", duration: "30d" },
      { form: { reason: why } },
    ),
  );
  await say(
    mona,
    "request blacklist-user",
    { user: resident, category: "scam", severity: "low", scope: "servers", servers: "harbour" },
    { form: { reason: why } },
  );
  await say(
    mona,
    "request blacklist-server",
    { server: "80351110224678913", category: "poaching", severity: "medium", "member-policy": "flag", "server-name": "Pirates" },
    { form: { reason: why } },
  );
  await say(mona, "request investigation", { user: rogue, category: "conduct" }, { form: { allegation: "Sells accounts." } });
  await say(
    mona,
    "request recruitment",
    { user: resident, position: "moderator", "trial-days": 14 },
    { form: { reason: "Helps everybody." } },
  );
  await say(
    mona,
    "request server-merge",
    { source: "80351110224678912", target: "80351110224678913", effective: "2026-04-01" },
    { form: { reason: "They moved." } },
  );
  await say(mona, "request alt", { user: rogue, other: resident, confidence: "suspected" }, { form: { basis: "They write alike." } });
  await say(
    mona,
    "request poach",
    { kind: "report", offender: rogue, "offending-server": "80351110224678913", method: "dm" },
    { form: { reason: "Wrote to five members." } },
  );
  await say(mona, "request mine");
  await say(mona, "request edit", { reference: warning, priority: "high" }, { form: { reason: `${why} Again today.` } });
  await say(mona, "request comment", { reference: warning }, { form: { body: "See the log." } });
  for (const cause of ["Six points within 90 days.", "Nine points within 90 days."]) {
    stage.wait(1);
    await world.app.database.write(systemCall("job", uuid7()), (tx) =>
      world.app.draftRecords.suggestInTx(tx, {
        type: "punishment",
        payload: { user_id: resident.id, action: "strike", reason: cause },
        subject: { kind: "user", id: resident.id },
        cause,
        openKey: cause,
      }),
    );
  }
  const drafts = await say(mona, "request draft list");
  const ids = [...JSON.stringify((await world.get("/workflows/drafts", { actor: mona })).body).matchAll(/"id":"([\da-f-]{36})"/g)].map(
    ([, id]) => id ?? "",
  );
  void drafts;
  await say(mona, "request draft show", { draft: ids[0] ?? "" });
  await say(mona, "request draft file", { draft: ids[0] ?? "" }, { form: { reason: why } });
  await say(sam, "request draft dismiss", { draft: ids[1] ?? ids[0] ?? "" }, { form: { reason: "Talked to them." } });
  await say(mona, "request attach", { reference: warning, file: { name: "log.txt", bytes: Buffer.from("log") } });

  begin("review");
  await say(sam, "review queue");
  await say(sam, "review queue", { kind: "appeal" });
  await say(sam, "review show", { reference: warning });
  await say(sam, "review show", { reference: "PUN-REQ-999999" });
  await say(sam, "review claim", { reference: warning });
  await say(ada, "review claim", { reference: warning });
  await say(sam, "review ask", { reference: warning }, { form: { questions: "Which messages?" } });
  await say(mona, "request answer", { reference: warning }, { form: { answer: "Those of Tuesday." } });
  await say(mona, "review approve", { reference: warning }, { yes: true });
  await say(ada, "review approve", { reference: warning, reason: why }, { yes: true });
  await say(ada, "review approve", { reference: warning, reason: why }, { yes: true });
  await say(ada, "review next");
  await say(ada, "review hold", { reference: listing }, { form: { reason: "Waiting for the log." } });
  await say(ada, "review release", { reference: listing }, { form: { reason: "It came." } });
  await say(ada, "review escalate", { reference: listing }, { form: { reason: "Beyond us." } });
  await say(ada, "review deescalate", { reference: listing }, { form: { reason: "It is ours." } });
  await say(ada, "review assign", { reference: listing, assignee: sam });
  await say(ada, "review assign", { reference: listing, assignee: rogue });
  await say(ada, "review unassign", { reference: listing });
  await say(ada, "review abstain", { reference: listing });
  await say(sam, "review approve", { reference: listing, reason: why }, { yes: true });
  await say(olivia, "review approve", { reference: listing, reason: why }, { yes: true });
  await say(olivia, "review show", { reference: listing });
  await say(olivia, "review history", { reference: listing });
  await say(olivia, "review comments", { reference: warning });
  const comment = idIn((await world.get(`/workflows/punishment/${warning}/comments`, { actor: mona })).body);
  await say(mona, "review comment-edit", { reference: warning, comment }, { form: { body: "See both logs." } });
  await say(
    sam,
    "request appeal",
    { target: warning, user: rogue },
    { form: { grounds: "It was not them, as the log of Tuesday shows." } },
  );
  await say(ada, "review object", { reference: "PUN-REQ-000003" }, { form: { reason: "I know them." } });
  await say(olivia, "review reverse", { reference: listing }, { form: { reason: "It was somebody else." }, yes: true });
  await say(olivia, "review deny", { reference: "INV-REQ-000001" }, { form: { reason: "Nothing found." } });
  await say(olivia, "review void", { reference: "POA-REQ-000001" }, { form: { reason: "Filed twice." } });
  await say(mona, "request withdraw", { reference: "BLS-REQ-000001" });
  await say(olivia, "review reopen", { reference: "INV-REQ-000001" }, { form: { reason: "More came up." } });
  await say(olivia, "review retry", { reference: listing, effect: 1 });
  await say(olivia, "review stats");

  begin("case");
  const opened = referenceIn(await say(sam, "case open", { user: rogue, title: "Raids", type: "investigation", priority: "high" }));
  await say(sam, "case open", { title: "Raids", user: rogue, users: "raiders" });
  await say(vera, "case open", { user: rogue, title: "Raids" });
  await say(sam, "case show", { case: opened });
  await say(sam, "case show", { case: "CASE-999999" });
  await say(sam, "case list");
  await say(sam, "case edit", { case: opened, status: "active", lead: mona });
  await say(sam, "case edit", { case: opened, lead: rogue });
  await say(sam, "case note", { case: opened }, { form: { text: "Talked to @resident8." } });
  const note = idIn(
    await say(sam, "case notes", { case: opened }).then(async () => (await world.get(`/cases/${opened}/notes`, { actor: sam })).body),
  );
  await say(sam, "case note-edit", { case: opened, note }, { form: { text: "Talked to both." } });
  await say(sam, "case note-history", { case: opened, note });
  await say(sam, "case evidence", { case: opened, link: "https://example.org/log", title: "Log" }, { form: { note: "Of Tuesday." } });
  const piece = idIn(await say(sam, "case files", { case: opened }));
  await say(sam, "case piece", { case: opened, piece });
  await say(sam, "case file", { case: opened, piece });
  await say(ada, "case redact", { case: opened, piece }, { form: { reason: "Shows a bystander." }, yes: true });
  await say(sam, "case action", { case: opened, kind: "strike", points: 2, duration: "60d" }, { form: { reason: why }, yes: true });
  await say(sam, "case actions", { case: opened });
  const action = idIn((await world.get(`/cases/${opened}/actions`, { actor: sam })).body);
  await say(ada, "case void", { case: opened, action }, { form: { reason: "It was somebody else." }, yes: true });
  await say(sam, "case link", { case: opened, reference: warning });
  await say(sam, "case unlink", { case: opened, reference: warning });
  await say(sam, "case history", { case: opened });
  await say(sam, "case timeline", { user: rogue });
  await menu(mona, "Case timeline", rogue);
  await menu(mona, "Intel profile", rogue);
  await say(mona, "intel strikes", { user: rogue });
  await say(sam, "case close", { case: opened, outcome: "resolved" }, { form: { reason: "Settled." } });
  await say(sam, "case close", { case: opened, outcome: "resolved" }, { form: { reason: "Settled." } });
  await say(sam, "case reopen", { case: opened }, { form: { reason: "It goes on." } });
  await say(ada, "case delete", { case: opened }, { form: { reason: "Opened twice." }, yes: true });
  await say(ada, "case restore", { case: opened }, { yes: true });
  await say(ada, "case template put", { template: "raid", title: "Raid", type: "investigation", due: "7d" });
  await say(ada, "case template list");
  await say(ada, "case template show", { template: "raid" });
  await say(ada, "case template delete", { template: "raid" }, { yes: true });

  begin("callsign");
  await world.post(
    "/callsigns/pools",
    { key: "north", name: "North", department: "NORTH", template: "{dept}-{n:03}", ranges: [[1, 30]] },
    { actor: olivia },
  );
  await say(ada, "callsign pools");
  await say(ada, "callsign pool", { pool: "north" });
  await say(ada, "callsign preview", { user: mona, pool: "north" });
  await say(ada, "callsign next", { user: mona, pool: "north" });
  await say(ada, "callsign next", { user: mona, pool: "south" });
  await say(ada, "callsign reserve", { pool: "north" });
  await say(ada, "callsign show", { callsign: "NORTH-001" });
  await say(ada, "callsign list", { pool: "north" });
  await say(ada, "callsign transfer", { callsign: "NORTH-001", user: sam }, { form: { reason: "Moves north." }, yes: true });
  await say(ada, "callsign block", { pool: "north", numbers: "13, 20-22" }, { form: { reason: "Never given." }, yes: true });
  await say(ada, "callsign block", { pool: "north", numbers: "5, x-7" }, { form: { reason: "Never given." }, yes: true });
  await say(ada, "callsign unblock", { pool: "north", numbers: "13" }, { form: { reason: "Given again." }, yes: true });
  await say(ada, "callsign release", { callsign: "NORTH-001" }, { form: { reason: "Left." }, yes: true });
  await say(ada, "callsign retire", { callsign: "NORTH-001" }, { form: { reason: "In memory." }, yes: true });
  await say(ada, "callsign unretire", { callsign: "NORTH-001" }, { form: { reason: "Again." }, yes: true });
  await say(ada, "callsign repair", { pool: "north" });
  await world.sandbox.waitFor(() => true);
  await say(ada, "callsign repairs");
  await say(ada, "callsign undo", { repair: uuid7() }, { form: { reason: "Once more." }, yes: true });

  begin("roster");
  await say(
    ada,
    "roster add",
    { user: mona, "staff-role": "moderator", department: "North" },
    { form: { reason: "Joined in spring." }, yes: true },
  );
  await say(ada, "roster add", { user: mona }, { form: { reason: "Twice." }, yes: true });
  await say(ada, "roster show", { user: mona });
  await say(ada, "roster show", { user: rogue });
  await say(ada, "roster edit", { user: mona, department: "South" }, { form: { reason: "Moves south." }, yes: true });
  await say(ada, "roster list");
  await say(ada, "roster export");
  await say(ada, "roster history", { user: mona });
  await say(ada, "roster sync status");
  await say(ada, "roster sync member", { user: mona });
  await say(ada, "roster sync all");
  await say(ada, "roster audit run", {}, { yes: true });
  await say(ada, "roster audit list");
  const [audit] = (await world.get("/roster/audits", { actor: ada })).body.data as { id: string }[];
  await say(ada, "roster audit show", { audit: audit?.id ?? "" });
  await say(ada, "roster audit findings", { audit: audit?.id ?? "" });
  const found = (await world.get(`/roster/audits/${audit?.id ?? ""}/findings`, { actor: ada })).body.data as { id: string }[];
  await say(ada, "roster audit fix", { finding: found.at(-1)?.id ?? "" }, { form: { reason: "They are staff." }, yes: true });
  await say(ada, "roster audit acknowledge", { finding: found[0]?.id ?? "" }, { form: { reason: "On purpose." }, yes: true });
  await say(ada, "roster audit withdraw", { finding: found[0]?.id ?? "" }, { form: { reason: "No longer." }, yes: true });
  await say(vera, "roster edit", { user: mona, department: "South" });
}
