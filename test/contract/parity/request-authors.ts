import { because, nowhere, why, type Case, type Scene } from "./scene.ts";
import { called, decide, file, filePunishment, left, pathOf, reason, right, silence } from "./filed.ts";

const bytes = Buffer.from("What was said that night.");
const proof = { name: "proof.txt", bytes };
const [title, summary] = ["The raid of Monday", "It began at eight and ended at nine."];
const told = { title, summary };

export const authors: readonly Case[] = [
  {
    entry: "request edit",
    isPersonal: true,
    before: async (scene) => {
      await silence(scene);
      await filePunishment(scene, "own", scene.owner);
      await filePunishment(scene, "admins", scene.admin);
    },
    given: (scene) => ({ ...called(scene, "own"), priority: "critical", urgent: true }),
    form: () => ({ ...told, reason: "Led both raids of last night." }),
    http: (scene) => [
      "PATCH",
      pathOf(scene, "own"),
      { ...told, priority: "critical", urgent: true, reason: "Led both raids of last night." },
    ],
    wrong: {
      given: (scene) => called(scene, "own"),
      form: () => ({ title: "    ", reason: "Short" }),
      http: (scene) => ["PATCH", pathOf(scene, "own"), { title: "    ", reason: "Short" }],
    },
  },
  {
    entry: "request edit",
    isPersonal: true,
    before: (scene) =>
      file(scene, "inquiry", scene.owner, "investigation", {
        subject: scene.world.member().id,
        allegation: "Shared internal screenshots.",
      }),
    given: (scene) => called(scene, "inquiry"),
    form: () => ({ ...told, reason: "Shared even more screenshots." }),
    http: (scene) => ["PATCH", pathOf(scene, "inquiry", "investigation"), { ...told, allegation: "Shared even more screenshots." }],
  },
  {
    entry: "request edit",
    isPersonal: true,
    before: (scene) =>
      file(scene, "appeal", scene.owner, "appeal", { target: "PUN-REQ-000001", grounds: "The record is about somebody else." }),
    given: (scene) => called(scene, "appeal"),
    form: () => ({ reason: "It is about somebody else, as two people say." }),
    http: (scene) => ["PATCH", pathOf(scene, "appeal", "appeal"), { grounds: "It is about somebody else, as two people say." }],
    wrong: {
      given: (scene) => called(scene, "appeal"),
      form: () => ({ reason: "Too short" }),
      http: (scene) => ["PATCH", pathOf(scene, "appeal", "appeal"), { grounds: "Too short" }],
    },
  },
  {
    entry: "request answer",
    isPersonal: true,
    before: (scene) => decide(scene, "own", scene.admin, { decision: "request_info", questions: ["Who saw it?"] }),
    given: (scene) => called(scene, "own"),
    form: () => ({ answer: "Ann did, at nine.", evidence: "https://example.org/2\nSo says Bob." }),
    http: (scene) => [
      "POST",
      `${pathOf(scene, "own")}/decision`,
      { decision: "provide_info", answer: "Ann did, at nine.", evidence: ["https://example.org/2", "So says Bob."] },
    ],
    wrong: {
      given: (scene) => called(scene, "admins"),
      form: () => ({ answer: "Nobody asked." }),
      http: (scene) => ["POST", `${pathOf(scene, "admins")}/decision`, { decision: "provide_info", answer: "Nobody asked." }],
    },
  },
  {
    entry: "request comment",
    isPersonal: true,
    given: (scene) => ({ ...called(scene, "admins"), visibility: "requester" }),
    form: () => ({ body: "The second witness answered." }),
    http: (scene) => ["POST", `${pathOf(scene, "admins")}/comments`, { body: "The second witness answered.", visibility: "requester" }],
    wrong: {
      given: (scene) => called(scene, "admins"),
      form: () => ({ body: "   " }),
      http: (scene) => ["POST", `${pathOf(scene, "admins")}/comments`, { body: "   " }],
    },
  },
  {
    entry: "request attach",
    given: (scene) => ({ ...called(scene, "admins"), file: proof, title, note: summary }),
    http: (scene) => ["POST", `${pathOf(scene, "admins")}/evidence`, { title, note: summary }, { file: proof }],
    wrong: {
      given: () => ({ reference: "PUN-REQ-999999", file: proof }),
      http: () => ["POST", "/workflows/punishment/PUN-REQ-999999/evidence", {}, { file: proof }],
    },
  },
  {
    entry: "request attach",
    by: "senior",
    given: (scene) => ({ ...called(scene, "own"), file: proof }),
    http: (scene) => ["POST", `${pathOf(scene, "own")}/evidence`, {}, { file: proof }],
    wrong: {
      given: (scene) => ({ ...called(scene, "own"), file: proof, title: "   " }),
      http: (scene) => ["POST", `${pathOf(scene, "own")}/evidence`, { title: "   " }, { file: proof }],
    },
  },
  {
    entry: "request withdraw",
    given: (scene) => ({ ...called(scene, "own"), reason: because }),
    http: (scene) => ["POST", `${pathOf(scene, "own")}/decision`, { decision: "withdraw", ...why() }],
    wrong: {
      given: (scene) => called(scene, "admins"),
      http: (scene) => ["POST", `${pathOf(scene, "admins")}/decision`, { decision: "withdraw" }],
    },
  },
  {
    entry: "request mine",
    isOpen: true,
    given: () => ({ state: "withdrawn" }),
    http: () => ["GET", "/workflows?limit=10&requester=@me&status=withdrawn"],
  },
];

/** Three reports of poaching suggest that the server be listed. */
async function suggestServer(scene: Scene, name: string): Promise<void> {
  for (const report of ["one", "two", "three"]) {
    const body = { kind: "report", offending_server_id: left, victim_server_id: right, occurred_at: "2026-11-20T10:00:00.000Z" };
    await file(scene, report, scene.admin, "poach", body);
    await decide(scene, report, scene.owner, { decision: "approve" }, "poach");
  }
  const { data } = (await scene.world.get("/workflows/drafts?type=blacklist-server", { actor: scene.owner })).body;
  scene.kept[name] = data[0].id;
}

export const drafts: readonly Case[] = [
  {
    entry: "request draft list",
    before: async (scene) => {
      for (const name of ["referral", "other"]) {
        await filePunishment(scene, name, scene.admin, { action: "blacklist_referral", notify_subject: false });
        await decide(scene, name, scene.owner, { decision: "approve" });
      }
      const { data } = (await scene.world.get("/workflows/drafts", { actor: scene.owner })).body;
      [scene.kept["draft"], scene.kept["spare"]] = data.map(({ id }: { id: string }) => id);
    },
    http: () => ["GET", "/workflows/drafts?limit=10"],
  },
  {
    entry: "request draft show",
    given: ({ kept }) => ({ draft: kept["draft"] ?? "" }),
    http: ({ kept }) => ["GET", `/workflows/drafts/${kept["draft"] ?? ""}`],
    wrong: { given: () => ({ draft: nowhere }), http: () => ["GET", `/workflows/drafts/${nowhere}`] },
  },
  {
    entry: "request draft file",
    given: ({ kept }) => ({ draft: kept["draft"] ?? "" }),
    form: () => ({ reason, category: "raid", severity: "high" }),
    http: ({ kept }) => [
      "POST",
      `/workflows/drafts/${kept["draft"] ?? ""}/file`,
      { payload: { reason, category: "raid", severity: "high" } },
    ],
    wrong: {
      given: ({ kept }) => ({ draft: kept["draft"] ?? "" }),
      form: () => ({ reason: "Short" }),
      http: ({ kept }) => ["POST", `/workflows/drafts/${kept["draft"] ?? ""}/file`, { payload: { reason: "Short" } }],
    },
  },
  {
    entry: "request draft file",
    before: (scene) => suggestServer(scene, "server"),
    given: ({ kept }) => ({ draft: kept["server"] ?? "" }),
    form: () => ({ severity: "low", "member-policy": "flag" }),
    http: ({ kept }) => ["POST", `/workflows/drafts/${kept["server"] ?? ""}/file`, { payload: { severity: "low", member_policy: "flag" } }],
  },
  {
    entry: "request draft dismiss",
    given: ({ kept }) => ({ draft: kept["spare"] ?? "" }),
    form: why,
    http: ({ kept }) => ["DELETE", `/workflows/drafts/${kept["spare"] ?? ""}`, why()],
    wrong: {
      given: ({ kept }) => ({ draft: kept["draft"] ?? "" }),
      form: why,
      http: ({ kept }) => ["DELETE", `/workflows/drafts/${kept["draft"] ?? ""}`, why()],
    },
  },
];
