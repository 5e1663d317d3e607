import { because, why, type Case, type Scene, type Way } from "./scene.ts";
import { called, decide, fileListing, filePunishment, grounds, pathOf, silence } from "./filed.ts";

const held = { reason: "Waits for the other case." };
const internal = "The fourth report was by a friend of theirs.";
type Typed = Readonly<Record<string, string | number | boolean>>;

/** A decision as it is given in both doors. */
function way(
  name: string,
  decision: string,
  { type = "punishment", ...given }: { type?: string; typed?: Typed; form?: Typed; body?: object },
): Way {
  const { typed = {}, form = {}, body = { ...typed, ...form } } = given;
  return {
    given: (scene) => ({ ...called(scene, name), ...typed }),
    form: () => form as Record<string, string>,
    http: (scene) => ["POST", `${pathOf(scene, name, type)}/decision`, { decision, ...body }],
  };
}

/** New requests, each for itself, before a case. */
const filing =
  (...names: readonly string[]) =>
  async (scene: Scene): Promise<void> => {
    await silence(scene);
    for (const name of names) await filePunishment(scene, name, scene.admin);
  };
const after =
  (name: string, body: object, by: "owner" | "admin" | "senior" = "owner") =>
  async (scene: Scene): Promise<void> => {
    await filing(name)(scene);
    await decide(scene, name, scene[by], body);
  };
const unknown = (decision: string): Way => ({
  given: () => ({ reference: "PUN-REQ-999999" }),
  form: () => ({ reason: grounds }),
  http: () => ["POST", "/workflows/punishment/PUN-REQ-999999/decision", { decision, reason: grounds }],
});
const move = { isPersonal: true } as const;

/** What one person may do to a request that is open. */
export const handling: readonly Case[] = [
  {
    ...move,
    entry: "review claim",
    before: after("stolen", { decision: "claim" }, "senior"),
    ...way("stolen", "claim", { typed: { steal: true } }),
    wrong: way("stolen", "claim", {}),
  },
  {
    ...move,
    entry: "review ask",
    before: filing("asked"),
    ...way("asked", "request_info", {
      form: { questions: "Who saw it?\n\nWhen was it?" },
      body: { questions: ["Who saw it?", "When was it?"] },
    }),
    wrong: way("asked", "request_info", {
      form: { questions: "one?\ntwo?\nthree?\nfour?\nfive?\nsix?" },
      body: { questions: ["one?", "two?", "three?", "four?", "five?", "six?"] },
    }),
  },
  {
    ...move,
    entry: "review escalate",
    before: filing("escalated"),
    ...way("escalated", "escalate", { form: why() }),
    wrong: way("escalated", "escalate", { form: { reason: "   " } }),
  },
  {
    ...move,
    entry: "review deescalate",
    ...way("escalated", "deescalate", { typed: why() }),
    wrong: way("asked", "deescalate", { typed: why() }),
  },
  {
    ...move,
    entry: "review hold",
    before: filing("held"),
    ...way("held", "hold", { form: held }),
    wrong: unknown("hold"),
  },
  {
    ...move,
    entry: "review release",
    ...way("held", "release", { form: why() }),
    wrong: way("asked", "release", { form: why() }),
  },
  {
    ...move,
    entry: "review assign",
    before: after("given", { decision: "claim" }),
    given: (scene) => ({ ...called(scene, "given"), assignee: scene.senior, steal: true }),
    http: (scene) => ["POST", `${pathOf(scene, "given")}/decision`, { decision: "assign", assignee: scene.senior.id, steal: true }],
    wrong: {
      given: (scene) => ({ ...called(scene, "given"), assignee: scene.ann }),
      http: (scene) => ["POST", `${pathOf(scene, "given")}/decision`, { decision: "assign", assignee: scene.ann.id }],
    },
  },
  {
    ...move,
    entry: "review unassign",
    ...way("given", "unassign", { typed: why() }),
    wrong: way("given", "unassign", { typed: { reason: "   " } }),
  },
  {
    ...move,
    entry: "review abstain",
    ...way("given", "abstain", { typed: why() }),
    wrong: way("given", "abstain", { typed: { reason: "   " } }),
  },
  {
    ...move,
    entry: "review object",
    by: "senior",
    ...way("given", "object", { form: why() }),
    wrong: way("given", "object", { form: { reason: "   " } }),
  },
  {
    ...move,
    entry: "review void",
    before: filing("twice"),
    given: (scene) => ({ ...called(scene, "twice"), "duplicate-of": scene.kept["given"] ?? "" }),
    form: why,
    http: (scene) => ["POST", `${pathOf(scene, "twice")}/decision`, { decision: "void", duplicate_of: scene.kept["given"], ...why() }],
    wrong: way("given", "void", { typed: { "duplicate-of": "   " }, form: why(), body: { duplicate_of: "   ", ...why() } }),
  },
];

const deciding = (typed: Typed) => ({
  typed: { ...typed, "reason-internal": internal, override: true },
  body: { ...typed, reason_internal: internal, override: true },
});

/** Deciding, and what comes after. */
export const verdicts: readonly Case[] = [
  {
    ...move,
    entry: "review approve",
    before: filing("approved"),
    ...way("approved", "approve", { typed: { reason: grounds } }),
    wrong: unknown("approve"),
  },
  {
    ...move,
    entry: "review approve",
    before: async (scene) => {
      await fileListing(scene, "alone", scene.admin);
      await fileListing(scene, "voted", scene.admin);
      await filing("onHold")(scene);
      await decide(scene, "onHold", scene.owner, { decision: "hold", ...held });
    },
    ...way("alone", "approve", { type: "blacklist-user", ...deciding({ reason: grounds }) }),
    wrong: way("alone", "approve", { type: "blacklist-user", ...deciding({ reason: because }) }),
  },
  {
    ...move,
    entry: "review approve",
    by: "senior",
    ...way("voted", "approve", { type: "blacklist-user" }),
    wrong: way("onHold", "approve", {}),
  },
  {
    ...move,
    entry: "review deny",
    before: filing("denied"),
    ...way("denied", "deny", {
      typed: { "reason-internal": internal, rules: "R4, R7", override: true },
      form: { reason: grounds },
      body: { reason_internal: internal, policy_refs: ["R4", "R7"], override: true, reason: grounds },
    }),
    wrong: way("approved", "deny", { form: { reason: grounds } }),
  },
  {
    ...move,
    entry: "review reopen",
    ...way("denied", "reopen", { form: why() }),
    wrong: way("approved", "reopen", { form: why() }),
  },
  {
    ...move,
    entry: "review reverse",
    ...way("approved", "reverse", deciding({ reason: grounds })),
    wrong: way("approved", "reverse", { form: { reason: grounds } }),
  },
  {
    ...move,
    entry: "review next",
    before: async (scene) => {
      await filing("waiting")(scene);
      const query = "status=pending,in_review,escalated&assignee=none&sort=created_at&type=punishment";
      const { data } = (await scene.world.get(`/workflows?${query}`, { actor: scene.senior })).body;
      const first = data.find(({ allowed_actions: actions }: { allowed_actions: string[] }) => actions.includes("claim"));
      scene.kept["next"] = first.reference;
    },
    by: "senior",
    given: () => ({ kind: "punishment" }),
    http: (scene) => ["POST", `${pathOf(scene, "next")}/decision`, { decision: "claim" }],
    wrong: {
      given: () => ({ kind: "appeal" }),
      http: () => ["POST", "/workflows/appeal/APL-REQ-999999/decision", { decision: "claim" }],
    },
  },
  {
    entry: "review retry",
    before: async (scene) => {
      await filing("untold")(scene);
      await decide(scene, "untold", scene.owner, { decision: "deny", reason: grounds });
      await fail(scene, "untold");
    },
    given: (scene) => ({ ...called(scene, "untold"), effect: 1 }),
    http: (scene) => ["POST", `${pathOf(scene, "untold")}/effects/1/retry`],
    wrong: {
      given: () => ({ reference: "PUN-REQ-999999", effect: 1 }),
      http: () => ["POST", "/workflows/punishment/PUN-REQ-999999/effects/1/retry"],
    },
  },
  {
    entry: "review retry",
    before: (scene) => fail(scene, "untold"),
    by: "senior",
    given: (scene) => ({ ...called(scene, "untold"), effect: 1 }),
    http: (scene) => ["POST", `${pathOf(scene, "untold")}/effects/1/retry`],
    wrong: {
      given: (scene) => ({ ...called(scene, "untold"), effect: 2 }),
      http: (scene) => ["POST", `${pathOf(scene, "untold")}/effects/2/retry`],
    },
  },
];

/** What the bot was to do has come to nothing. */
async function fail({ world, kept }: Scene, name: string): Promise<void> {
  const call = { client: null, actor: null, via: "cli", requestId: "fail", idempotency: null, replayed: false } as const;
  const data = { status: "failed", attempts: 12, lastError: "They don't accept messages from me.", dueAt: null };
  const where = { request: { reference: kept[name] ?? "" }, place: 1 };
  const { count } = await world.app.database.write(call, ({ db }) => db.workflowEffect.updateMany({ where, data }));
  if (count !== 1) throw new Error(`${name} has no effect`);
}

const seen = (entry: string, name: string, path: string, type = "punishment"): Case => ({
  entry,
  given: (scene) => called(scene, name),
  http: (scene) => ["GET", `${pathOf(scene, name, type)}${path}`],
});

/** What is read of requests, after all that was done to them. */
export const reading = (names: readonly string[]): readonly Case[] =>
  names.flatMap((name) => [seen("review show", name, "?why_not=true"), seen("review history", name, "/history?limit=10")]);
