import { because, nowhere, planHash, why, zeros, type Case, type Scene } from "./scene.ts";

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

export const callsigns: readonly Case[] = [
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
