import type { Role, User } from "../../src/sandbox/index.ts";
import type { World } from "../support/world.ts";

/** One of two worlds that are made the same way, and the people in it. */
export interface Scene {
  world: World;
  /** Owner, and at the console. */
  owner: User;
  ann: User;
  bob: User;
  /** What cases keep for later ones, such as the id of what they made. */
  kept: Record<string, string>;
}

export type Options = Record<string, string | number | boolean | User | Role>;

export interface Way {
  /** What is typed. */
  given?: (scene: Scene) => Options;
  /** What the form is filled in with, where one opens. */
  form?: (scene: Scene) => Record<string, string>;
  /** The same over HTTP. */
  http: (scene: Scene) => [method: string, path: string, body?: unknown];
}

export interface Case extends Way {
  /** `<command> <path>`. */
  entry: string;
  /** Done in both worlds before. */
  before?: (scene: Scene) => Promise<void>;
  /** The same in both doors with something wrong, which both refuse. */
  wrong?: Way;
}

const day = "2026-11-02";
const midnight = `${day}T00:00:00.000Z`;
const nowhere = "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f";
const zeros = "0".repeat(64);
const because = "Both doors agree";
const why = () => ({ reason: because });

/** A number whose rest is over, which a repair frees. */
async function plantRest({ world, owner }: Scene): Promise<void> {
  const blocked = await world.post("/callsigns/block", { pool: "north", numbers: [30], reason: because }, { actor: owner });
  if (blocked.status !== 200) throw new Error(JSON.stringify(blocked.body));
  const { database } = world.app;
  const change = { state: "held", until: new Date("2026-01-01T00:00:00.000Z") };
  await database.write({ client: null, actor: null, via: "cli", requestId: "plant", idempotency: null, replayed: false }, ({ db }) =>
    db.callsignSlot.updateMany({ where: { pool: "north", number: 30 }, data: change }),
  );
}

const planHash = async ({ world, owner }: Scene, path: string, body: object): Promise<string> =>
  (await world.post(path, body, { actor: owner })).body.data.plan_hash as string;

const callsigns: readonly Case[] = [
  {
    entry: "callsign next",
    given: ({ ann }) => ({ user: ann, pool: "north" }),
    http: ({ ann }) => ["POST", "/callsigns/next", { user_id: ann.id, pool: "north" }],
    wrong: {
      given: ({ ann }) => ({ user: ann, pool: "nowhere" }),
      http: ({ ann }) => ["POST", "/callsigns/next", { user_id: ann.id, pool: "nowhere" }],
    },
  },
  {
    entry: "callsign preview",
    given: ({ bob }) => ({ user: bob, pool: "north", fill: "sequential" }),
    http: ({ bob }) => ["GET", `/callsigns/next?user_id=${bob.id}&pool=north&fill=sequential`],
  },
  {
    entry: "callsign reserve",
    given: () => ({ pool: "north" }),
    http: () => ["POST", "/callsigns/next", { pool: "north", mode: "reserve" }],
    wrong: { given: () => ({ pool: "nowhere" }), http: () => ["POST", "/callsigns/next", { pool: "nowhere", mode: "reserve" }] },
  },
  { entry: "callsign show", given: () => ({ callsign: "N-001" }), http: () => ["GET", "/callsigns/N-001"] },
  {
    entry: "callsign list",
    given: ({ ann }) => ({ pool: "north", user: ann }),
    http: ({ ann }) => ["GET", `/callsigns?limit=10&pool=north&user_id=${ann.id}`],
  },
  {
    entry: "callsign transfer",
    given: ({ bob }) => ({ callsign: "N-001", user: bob }),
    form: why,
    http: ({ bob }) => ["POST", "/callsigns/N-001/transfer", { user_id: bob.id, ...why() }],
    wrong: {
      given: ({ bob }) => ({ callsign: "N-020", user: bob }),
      form: why,
      http: ({ bob }) => ["POST", "/callsigns/N-020/transfer", { user_id: bob.id, ...why() }],
    },
  },
  {
    entry: "callsign release",
    given: () => ({ callsign: "N-001", "rest-days": 3 }),
    form: why,
    http: () => ["POST", "/callsigns/N-001/release", { rest_days: 3, ...why() }],
    wrong: {
      given: () => ({ callsign: "N-001" }),
      form: () => ({ reason: "   " }),
      http: () => ["POST", "/callsigns/N-001/release", { reason: "   " }],
    },
  },
  {
    entry: "callsign retire",
    given: () => ({ callsign: "N-007" }),
    form: why,
    http: () => ["POST", "/callsigns/N-007/retire", why()],
    wrong: { given: () => ({ callsign: "Q-1" }), form: why, http: () => ["POST", "/callsigns/Q-1/retire", why()] },
  },
  {
    entry: "callsign unretire",
    given: () => ({ callsign: "N-007" }),
    form: why,
    http: () => ["POST", "/callsigns/N-007/unretire", why()],
    wrong: { given: () => ({ callsign: "N-002" }), form: why, http: () => ["POST", "/callsigns/N-002/unretire", why()] },
  },
  {
    entry: "callsign block",
    given: () => ({ pool: "north", numbers: "13, 20-22" }),
    form: why,
    http: () => ["POST", "/callsigns/block", { pool: "north", numbers: [13, 20, 21, 22], ...why() }],
    wrong: {
      given: () => ({ pool: "north", numbers: "13, x" }),
      form: why,
      http: () => ["POST", "/callsigns/block", { pool: "north", numbers: [13, "x"], ...why() }],
    },
  },
  {
    entry: "callsign unblock",
    given: () => ({ pool: "north", numbers: "20-21" }),
    form: why,
    http: () => ["POST", "/callsigns/unblock", { pool: "north", numbers: [20, 21], ...why() }],
    wrong: {
      given: () => ({ pool: "none", numbers: "20" }),
      form: why,
      http: () => ["POST", "/callsigns/unblock", { pool: "none", numbers: [20], ...why() }],
    },
  },
  { entry: "callsign pools", http: () => ["GET", "/callsigns/pools?limit=10"] },
  {
    entry: "callsign pool",
    given: () => ({ pool: "north" }),
    http: () => ["GET", "/callsigns/pools/north"],
    wrong: { given: () => ({ pool: "No Such" }), http: () => ["GET", "/callsigns/pools/No%20Such"] },
  },
  {
    entry: "callsign repair",
    before: async (scene) => {
      await plantRest(scene);
      scene.kept["plan"] = await planHash(scene, "/callsigns/repair", { pool: "north", fix: ["hold_over"] });
    },
    given: ({ kept }) => ({ pool: "north", fix: "hold_over", plan: kept["plan"] ?? "" }),
    http: ({ kept }) => ["POST", "/callsigns/repair", { pool: "north", fix: ["hold_over"], dry_run: false, plan_hash: kept["plan"] }],
    wrong: {
      given: () => ({ plan: zeros }),
      http: () => ["POST", "/callsigns/repair", { dry_run: false, plan_hash: zeros }],
    },
  },
  { entry: "callsign repairs", http: () => ["GET", "/callsigns/repairs?limit=10"] },
  {
    entry: "callsign undo",
    before: async (scene) => {
      const { body } = await scene.world.get("/callsigns/repairs", { actor: scene.owner });
      scene.kept["repair"] = body.data[0].id;
    },
    given: ({ kept }) => ({ repair: kept["repair"] ?? "" }),
    form: why,
    http: ({ kept }) => ["POST", `/callsigns/repair/${kept["repair"] ?? ""}/undo`, why()],
    wrong: { given: () => ({ repair: nowhere }), form: why, http: () => ["POST", `/callsigns/repair/${nowhere}/undo`, why()] },
  },
];

const roster: readonly Case[] = [
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
      given: () => ({ finding: "none" }),
      form: why,
      http: () => ["POST", "/roster/audit/acknowledgements", { findings: ["none"], ...why() }],
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

const past = "2026-01-01";
const audit: readonly Case[] = [
  {
    entry: "audit search",
    given: ({ ann }) => ({ user: ann, action: "roster.", outcome: "ok" }),
    http: ({ ann }) => ["GET", `/audit?limit=10&subject=${ann.id}&action_prefix=roster.&outcome=ok`],
    wrong: { given: () => ({ words: "x" }), http: () => ["GET", "/audit?limit=10&q=x"] },
  },
  {
    // Entries of refusals come a little later, each in its own time: of a finding there are none.
    entry: "audit show",
    given: ({ kept }) => ({ record: kept["finding"] ?? "" }),
    http: ({ kept }) => ["GET", `/audit?limit=10&target=${kept["finding"] ?? ""}`],
  },
  {
    entry: "audit mine",
    given: () => ({ action: "callsign.block", to: "2100-01-01" }),
    http: () => ["GET", "/audit/mine?limit=10&action_prefix=callsign.block&to=2100-01-01T00:00:00.000Z"],
    wrong: { given: () => ({ from: "soon" }), http: () => ["GET", "/audit/mine?limit=10&from=soon"] },
  },
  {
    entry: "audit verify",
    given: () => ({ first: 1, last: 3 }),
    http: () => ["GET", "/audit/verify?from=1&to=3"],
    wrong: { given: () => ({ first: 3, last: 1 }), http: () => ["GET", "/audit/verify?from=3&to=1"] },
  },
  {
    entry: "audit export",
    given: () => ({ to: past }),
    http: () => ["GET", `/audit/export?to=${past}T00:00:00.000Z`],
    wrong: { given: () => ({ from: "soon" }), http: () => ["GET", "/audit/export?from=soon"] },
  },
];

/** In this order: later ones build on what earlier ones leave. Commands without a case are given something of every kind instead. */
export const cases: readonly Case[] = [...callsigns, ...roster, ...audit];

/** Commands that cannot be compared so, each with the reason. */
export const withoutCase: Readonly<Record<string, string>> = {
  "review stats": "it tells in seconds how long things took, which differs from world to world",
  "setup backup": "it runs no operation: it only says what to do",
  "blacklist import": "it is given a file: see its own test",
  "request attach": "it is given a file: see its own test",
  "audit checkpoint": "it holds the key of its installation, which differs from world to world",
};
