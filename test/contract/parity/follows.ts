import { because, nowhere, type Case, type Scene } from "./scene.ts";

const csv = (scene: Scene): string => `kind,subject_id,number,category,severity\nuser,${scene.ann.id},N1,raid,high`;
const csvType = { headers: { "content-type": "text/csv" } };
const address = "https://127.0.0.1";
const at = ({ kept }: Scene, name: string): string => kept[name] ?? "";

/** Follows a list over HTTP. */
async function followed(scene: Scene, name: string, body: object): Promise<void> {
  const { world, owner } = scene;
  const answer = await world.post("/lists", { name, ...body }, { actor: owner });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  scene.kept[name] = answer.body.data.id;
}

/** A list that nobody is told of. */
const wrongList = (method: string, path: string, more: object = {}): NonNullable<Case["wrong"]> => ({
  given: () => ({ list: nowhere, ...more }),
  http: () => [method, `/lists/${nowhere}${path}`],
});

/** Lists that are followed, through both doors. No address of them answers. */
export const follows: readonly Case[] = [
  {
    entry: "follows add",
    by: "admin",
    given: () => ({ trust: "high", categories: "raid, scam", interval: 30 }),
    form: () => ({ name: "Harbour Watch", address, key: "prv_test_key" }),
    http: () => [
      "POST",
      "/lists",
      { name: "Harbour Watch", address, key: "prv_test_key", trust: "high", categories: ["raid", "scam"], interval_minutes: 30 },
    ],
  },
  {
    entry: "follows show",
    by: "senior",
    before: async (scene) => {
      await followed(scene, "sent", { kind: "file" });
      await followed(scene, "asked", { kind: "file", address });
    },
    given: (scene) => ({ list: at(scene, "sent") }),
    http: (scene) => ["GET", `/lists/${at(scene, "sent")}`],
    wrong: wrongList("GET", ""),
  },
  { entry: "follows list", by: "senior", http: () => ["GET", "/lists?limit=10"] },
  {
    entry: "follows edit",
    by: "admin",
    given: (scene) => ({ list: at(scene, "sent"), name: "Quay Watch", trust: "low" }),
    http: (scene) => ["PATCH", `/lists/${at(scene, "sent")}`, { name: "Quay Watch", trust: "low" }],
    wrong: {
      given: (scene) => ({ list: at(scene, "sent"), categories: "dragons" }),
      http: (scene) => ["PATCH", `/lists/${at(scene, "sent")}`, { categories: ["dragons"] }],
    },
  },
  {
    entry: "follows send",
    by: "admin",
    given: (scene) => ({ list: at(scene, "sent"), file: { name: "list.csv", bytes: Buffer.from(csv(scene)) } }),
    http: (scene) => ["PUT", `/lists/${at(scene, "sent")}/file`, csv(scene), csvType],
    wrong: {
      given: (scene) => ({ list: at(scene, "sent"), file: { name: "list.csv", bytes: Buffer.from("\n") } }),
      http: (scene) => ["PUT", `/lists/${at(scene, "sent")}/file`, "\n", csvType],
    },
  },
  {
    entry: "follows entries",
    by: "senior",
    given: (scene) => ({ list: at(scene, "sent") }),
    http: (scene) => ["GET", `/lists/${at(scene, "sent")}/entries?limit=10`],
    wrong: wrongList("GET", "/entries?limit=10"),
  },
  {
    entry: "follows adopt",
    by: "admin",
    given: (scene) => ({ list: at(scene, "sent"), entry: "N1" }),
    form: () => ({ "reason-public": because, "reason-internal": because }),
    http: (scene) => ["POST", `/lists/${at(scene, "sent")}/entries/N1/adopt`, { reason_public: because, reason_internal: because }],
    wrong: {
      given: (scene) => ({ list: at(scene, "sent"), entry: "N2" }),
      form: () => ({ "reason-public": because }),
      http: (scene) => ["POST", `/lists/${at(scene, "sent")}/entries/N2/adopt`, { reason_public: because }],
    },
  },
  {
    entry: "follows refresh",
    by: "admin",
    given: (scene) => ({ list: at(scene, "asked") }),
    http: (scene) => ["POST", `/lists/${at(scene, "asked")}/refresh`],
    wrong: {
      given: (scene) => ({ list: at(scene, "sent") }),
      http: (scene) => ["POST", `/lists/${at(scene, "sent")}/refresh`],
    },
  },
  {
    entry: "follows reset",
    by: "admin",
    given: (scene) => ({ list: at(scene, "asked") }),
    http: (scene) => ["POST", `/lists/${at(scene, "asked")}/reset`],
    wrong: wrongList("POST", "/reset"),
  },
  {
    entry: "follows stop",
    by: "admin",
    given: (scene) => ({ list: at(scene, "asked") }),
    http: (scene) => ["DELETE", `/lists/${at(scene, "asked")}`],
    wrong: wrongList("DELETE", ""),
  },
];
