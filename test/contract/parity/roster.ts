import { systemCall } from "../../../src/kernel/call.ts";
import { uuid7 } from "../../../src/kernel/ids.ts";
import { because, day, midnight, planHash, why, zeros, type Case } from "./scene.ts";

export const roster: readonly Case[] = [
  {
    entry: "roster add",
    given: ({ ann }) => ({ user: ann, department: "north", since: day, "trial-days": 400 / 40 }),
    form: () => ({ ...why(), notes: "Comes on Mondays" }),
    http: ({ ann }) => [
      "POST",
      "/roster",
      { user_id: ann.id, department: "north", joined_at: midnight, trial_days: 10, notes: "Comes on Mondays", ...why() },
    ],
    wrong: {
      given: ({ bob }) => ({ user: bob, since: "soon" }),
      form: why,
      http: ({ bob }) => ["POST", "/roster", { user_id: bob.id, joined_at: "soon", ...why() }],
    },
  },
  {
    entry: "roster show",
    // Each minute it is found out at Discord who is on the roster: done at once, it is not done between the two doors.
    before: async ({ world, ann }) => {
      await world.app.rosterSync.catchUp(systemCall("job", uuid7()));
      await world.sandbox.waitFor(() => world.app.guildState.members(ann.id).length > 0);
    },
    given: ({ ann }) => ({ user: ann }),
    http: ({ ann }) => ["GET", `/roster/${ann.id}`],
  },
  {
    entry: "roster list",
    given: () => ({ department: "north", "include-left": true }),
    http: () => ["GET", "/roster?limit=10&department=north&include_left=true"],
  },
  { entry: "roster export", given: () => ({ department: "north" }), http: () => ["GET", "/roster?limit=200&department=north"] },
  {
    entry: "roster edit",
    given: ({ ann }) => ({ user: ann, department: "south" }),
    form: why,
    http: ({ ann }) => ["PATCH", `/roster/${ann.id}`, { department: "south", ...why() }],
    wrong: {
      given: ({ ann }) => ({ user: ann, correction: true }),
      form: () => ({ notes: "No reason" }),
      http: ({ ann }) => ["PATCH", `/roster/${ann.id}`, { correction: true, notes: "No reason" }],
    },
  },
  {
    entry: "roster history",
    given: ({ ann }) => ({ user: ann, from: day }),
    http: ({ ann }) => ["GET", `/roster/history?limit=10&user_id=${ann.id}&from=${midnight}`],
    wrong: {
      given: () => ({ on: day }),
      http: () => ["GET", `/roster/history?limit=10&on=${midnight}`],
    },
  },
  {
    entry: "roster sync member",
    given: ({ ann }) => ({ user: ann, direction: "from_discord", reason: because }),
    http: ({ ann }) => ["POST", "/roster/sync-member", { discord_user_id: ann.id, direction: "from_discord", ...why() }],
  },
  {
    entry: "roster sync all",
    before: async (scene) => {
      scene.kept["all"] = await planHash(scene, "/roster/sync", {});
    },
    given: ({ kept }) => ({ plan: kept["all"] ?? "" }),
    http: ({ kept }) => ["POST", "/roster/sync", { dry_run: false, plan_hash: kept["all"] }],
    wrong: { given: () => ({ plan: zeros }), http: () => ["POST", "/roster/sync", { dry_run: false, plan_hash: zeros }] },
  },
  { entry: "roster sync status", http: () => ["GET", "/roster/sync"] },
  {
    entry: "roster audit run",
    before: async ({ world, ann }) => {
      await world.app.database.write(
        { client: null, actor: null, via: "cli", requestId: "plant", idempotency: null, replayed: false },
        ({ db }) => db.rosterEntry.update({ where: { userId: ann.id }, data: { trialEndsAt: new Date(midnight) } }),
      );
    },
    given: () => ({ check: "trial_overdue", department: "south" }),
    http: () => ["POST", "/roster/audit", { checks: ["trial_overdue"], scope: { department: "south" } }],
    wrong: {
      given: () => ({ department: "   " }),
      http: () => ["POST", "/roster/audit", { scope: { department: "   " } }],
    },
  },
  { entry: "roster audit list", http: () => ["GET", "/roster/audits?limit=10"] },
  {
    entry: "roster audit show",
    before: async (scene) => {
      scene.kept["audit"] = (await scene.world.get("/roster/audits", { actor: scene.owner })).body.data[0].id;
    },
    given: ({ kept }) => ({ audit: kept["audit"] ?? "" }),
    http: ({ kept }) => ["GET", `/roster/audits/${kept["audit"] ?? ""}`],
    wrong: { given: () => ({ audit: "none" }), http: () => ["GET", "/roster/audits/none"] },
  },
  {
    entry: "roster audit findings",
    given: ({ kept }) => ({ audit: kept["audit"] ?? "", new: true }),
    http: ({ kept }) => ["GET", `/roster/audits/${kept["audit"] ?? ""}/findings?limit=10&is_new=true`],
    wrong: { given: () => ({ audit: "none" }), http: () => ["GET", "/roster/audits/none/findings?limit=10"] },
  },
  {
    entry: "roster audit acknowledge",
    before: async (scene) => {
      const { body } = await scene.world.get(`/roster/audits/${scene.kept["audit"] ?? ""}/findings`, { actor: scene.owner });
      scene.kept["finding"] = body.data[0].id;
    },
    given: ({ kept }) => ({ finding: kept["finding"] ?? "" }),
    form: () => ({ ...why(), until: "2030-01-01" }),
    http: ({ kept }) => [
      "POST",
      "/roster/audit/acknowledgements",
      { findings: [kept["finding"]], until: "2030-01-01T00:00:00.000Z", ...why() },
    ],
    wrong: {
      given: () => ({ finding: "none", until: "2030-01-01" }),
      form: why,
      http: () => ["POST", "/roster/audit/acknowledgements", { findings: ["none"], until: "2030-01-01T00:00:00.000Z", ...why() }],
    },
  },
  {
    entry: "roster audit withdraw",
    given: ({ kept }) => ({ finding: kept["finding"] ?? "" }),
    form: why,
    http: ({ kept }) => ["POST", "/roster/audit/acknowledgements/withdraw", { findings: [kept["finding"]], ...why() }],
    wrong: {
      given: () => ({ finding: "none" }),
      form: () => ({}),
      http: () => ["POST", "/roster/audit/acknowledgements/withdraw", { findings: ["none"] }],
    },
  },
  {
    entry: "roster audit fix",
    given: ({ kept }) => ({ finding: kept["finding"] ?? "" }),
    form: why,
    http: ({ kept }) => ["POST", "/roster/audit/fixes", { findings: [kept["finding"]], ...why() }],
    wrong: {
      given: () => ({ finding: "none" }),
      form: why,
      http: () => ["POST", "/roster/audit/fixes", { findings: ["none"], ...why() }],
    },
  },
];
