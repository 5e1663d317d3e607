import { blacklistAdding, first, second, server } from "./blacklist-add.ts";
import { because, why, type Case, type Scene } from "./scene.ts";

const none = "BL-999999";
const csvType = { headers: { "content-type": "text/csv" } };
const past = new Date("2026-01-01T00:00:00.000Z");
const planting = { client: null, actor: null, via: "cli", requestId: "plant", idempotency: null, replayed: false } as const;

/** Lists somebody. @returns the number of the record */
async function listed({ world, owner }: Scene, fields: object): Promise<string> {
  const { status, body } = await world.post("/blacklist", fields, { actor: owner });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.data.number as string;
}

const numberAbout = async ({ world, owner }: Scene, subject: string): Promise<string> =>
  (await world.get(`/blacklist?subject=${subject}`, { actor: owner })).body.data[0].number as string;

const at = ({ kept }: Scene, name: string): string => kept[name] ?? "";

/** One record that all filters find, and for each filter one that only it keeps out. */
async function listMany(scene: Scene): Promise<void> {
  const found = { kind: "user", category: "scam", severity: "high", reason_public: "Harbour fraud" };
  const others = [{}, { category: "exploit" }, { severity: "low" }, { reason_public: "Something else" }, { kind: "server" }];
  let subject = 80351110224678920n;
  for (const other of others) await listed(scene, { ...found, ...other, subject_id: (subject += 1n).toString() });
  const ended = await listed(scene, { ...found, subject_id: (subject += 1n).toString() });
  const { status } = await scene.world.delete(`/blacklist/${ended}`, why(), { actor: scene.owner });
  if (status !== 200) throw new Error(`not revoked: ${status.toString()}`);
}
const manyFilters = { kind: "user", status: "active", category: "scam", severity: "high", q: "fraud" };
const manyQuery = new URLSearchParams(manyFilters).toString();

/** The review of everything is due, and everybody was told so already. */
async function plantReviews({ world }: Scene): Promise<void> {
  await world.app.database.write(planting, ({ db }) =>
    db.blacklistRecord.updateMany({ where: { severity: "high" }, data: { reviewAt: past, reviewToldFor: past } }),
  );
}

const reading: readonly Case[] = [
  {
    entry: "blacklist check",
    before: async ({ world, owner, ann, bob }) => {
      const link = { user_id: bob.id, confidence: "probable", kind: "declared_alt", basis: [{ type: "admission", note: because }] };
      const { status } = await world.post(`/users/${ann.id}/links`, link, { actor: owner });
      if (status !== 201) throw new Error(`not linked: ${status.toString()}`);
    },
    given: ({ ann, bob }) => ({ ids: `<@${ann.id}>, <@!${bob.id}> ${server}`, alts: true }),
    http: ({ ann, bob }) => {
      const ids = [ann.id, bob.id, server];
      return ["POST", "/blacklist/check", { user_ids: ids, server_ids: ids, include_alts: true }];
    },
    wrong: {
      given: () => ({ ids: `${server} nobody` }),
      http: () => ["POST", "/blacklist/check", { user_ids: [server, "nobody"], server_ids: [server, "nobody"] }],
    },
  },
  {
    entry: "blacklist show",
    before: async (scene) => {
      scene.kept["ann"] = await numberAbout(scene, scene.ann.id);
      scene.kept["server"] = await numberAbout(scene, server);
    },
    by: "senior",
    given: (scene) => ({ record: at(scene, "ann").toLowerCase() }),
    http: (scene) => ["GET", `/blacklist/${at(scene, "ann").toLowerCase()}`],
    wrong: { given: () => ({ record: none }), http: () => ["GET", `/blacklist/${none}`] },
  },
  {
    entry: "blacklist search",
    before: listMany,
    given: () => manyFilters,
    http: () => ["GET", `/blacklist?limit=10&${manyQuery}`],
    wrong: {
      given: () => ({ q: "  x  ", subject: "nobody" }),
      http: () => ["GET", "/blacklist?limit=10&q=%20%20x%20%20&subject=nobody"],
    },
  },
  {
    entry: "blacklist search",
    by: "senior",
    given: ({ ann }) => ({ subject: `<@${ann.id}>` }),
    http: ({ ann }) => ["GET", `/blacklist?limit=10&subject=${ann.id}`],
    wrong: {
      // Two subjects are not one of them.
      given: ({ ann, bob }) => ({ subject: `${ann.id} ${bob.id}` }),
      http: ({ ann, bob }) => ["GET", `/blacklist?limit=10&subject=${ann.id}%20${bob.id}`],
    },
  },
  {
    entry: "blacklist review-due",
    before: plantReviews,
    given: () => ({ kind: "user" }),
    http: () => ["GET", "/blacklist?limit=10&kind=user&review_due=true"],
  },
  {
    entry: "blacklist export",
    by: "admin",
    given: () => ({ format: "ndjson", ...manyFilters }),
    http: () => ["GET", `/blacklist/export?format=ndjson&${manyQuery}`],
    wrong: { given: () => ({ q: " x" }), http: () => ["GET", "/blacklist/export?q=%20x"] },
  },
  {
    entry: "blacklist export",
    given: ({ ann }) => ({ subject: `<@${ann.id}>` }),
    http: ({ ann }) => ["GET", `/blacklist/export?subject=${ann.id}`],
    wrong: { given: () => ({ subject: "nobody" }), http: () => ["GET", "/blacklist/export?subject=nobody"] },
  },
];

const changing: readonly Case[] = [
  {
    entry: "blacklist edit",
    given: (scene) => ({
      record: at(scene, "ann"),
      revision: 1,
      category: "harassment",
      severity: "low",
      duration: "60d",
      "recommended-action": "ban",
      "include-alts": "none",
      "reason-public": "Not so bad",
      "reason-internal": "Told by two",
      tags: "three",
      "review-at": "2027-02-01T00:00:00.000Z",
      reviewed: true,
    }),
    http: (scene) => [
      "PATCH",
      `/blacklist/${at(scene, "ann")}`,
      {
        category: "harassment",
        severity: "low",
        duration: "60d",
        recommended_action: "ban",
        include_alts: "none",
        reason_public: "Not so bad",
        reason_internal: "Told by two",
        tags: ["three"],
        review_at: "2027-02-01T00:00:00.000Z",
        reviewed: true,
      },
      { headers: { "if-match": '"v1"' } },
    ],
    wrong: {
      given: (scene) => ({ record: at(scene, "ann"), revision: 7, severity: "low" }),
      http: (scene) => ["PATCH", `/blacklist/${at(scene, "ann")}`, { severity: "low" }, { headers: { "if-match": '"v7"' } }],
    },
  },
  {
    entry: "blacklist edit",
    by: "senior",
    given: (scene) => ({ record: at(scene, "server"), "member-policy": "deny_staff" }),
    http: (scene) => ["PATCH", `/blacklist/${at(scene, "server")}`, { member_policy: "deny_staff" }],
    wrong: {
      given: (scene) => ({ record: at(scene, "server"), "include-alts": "none", category: "raid" }),
      http: (scene) => ["PATCH", `/blacklist/${at(scene, "server")}`, { include_alts: "none", category: "raid" }],
    },
  },
  {
    entry: "blacklist history",
    by: "senior",
    given: (scene) => ({ record: at(scene, "ann") }),
    http: (scene) => ["GET", `/blacklist/${at(scene, "ann")}/history?limit=10`],
    wrong: { given: () => ({ record: "none" }), http: () => ["GET", "/blacklist/none/history?limit=10"] },
  },
];

const ending: readonly Case[] = [
  {
    entry: "blacklist revoke",
    by: "admin",
    given: (scene) => ({ record: at(scene, "server"), reason: because, revision: 2 }),
    http: (scene) => ["DELETE", `/blacklist/${at(scene, "server")}`, why(), { headers: { "if-match": '"v2"' } }],
    wrong: {
      given: (scene) => ({ record: at(scene, "server"), reason: because, revision: 1 }),
      http: (scene) => ["DELETE", `/blacklist/${at(scene, "server")}`, why(), { headers: { "if-match": '"v1"' } }],
    },
  },
  {
    entry: "blacklist revoke",
    given: (scene) => ({ record: at(scene, "ann") }),
    form: why,
    http: (scene) => ["DELETE", `/blacklist/${at(scene, "ann")}`, why()],
    wrong: {
      given: (scene) => ({ record: at(scene, "ann") }),
      form: () => ({ reason: "   " }),
      http: (scene) => ["DELETE", `/blacklist/${at(scene, "ann")}`, { reason: "   " }],
    },
  },
  {
    entry: "blacklist purge",
    before: async (scene) => {
      scene.kept["first"] = await numberAbout(scene, first);
    },
    given: (scene) => ({ record: at(scene, "ann"), revision: 3 }),
    form: why,
    http: (scene) => ["POST", `/blacklist/${at(scene, "ann")}/purge`, why(), { headers: { "if-match": '"v3"' } }],
    wrong: {
      // It still counts.
      given: (scene) => ({ record: at(scene, "first") }),
      form: why,
      http: (scene) => ["POST", `/blacklist/${at(scene, "first")}/purge`, why()],
    },
  },
];

const csv = ({ ann }: Scene): string =>
  [
    "kind,subject_id,category,severity,tags",
    `user,${ann.id},scam,high,one;two`,
    `server,${first},scam,critical,`,
    `user,${second},nothing,low,`,
  ].join("\n");

const importing: readonly Case[] = [
  {
    entry: "blacklist import",
    by: "admin",
    given: (scene) => ({ file: { name: "list.csv", bytes: Buffer.from(csv(scene)) }, mode: "merge" }),
    http: (scene) => ["POST", "/blacklist/import?mode=merge", csv(scene), csvType],
    wrong: {
      given: () => ({ file: { name: "list.csv", bytes: Buffer.from("\n") } }),
      http: () => ["POST", "/blacklist/import", "\n", csvType],
    },
  },
];

export const blacklist: readonly Case[] = [...blacklistAdding, ...reading, ...changing, ...ending, ...importing];
