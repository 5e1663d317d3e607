import type { Case, Scene } from "./scene.ts";
import { called, pathOf } from "./filed.ts";
import { handling, reading, verdicts } from "./review.ts";

async function say({ world, ...scene }: Scene, name: string, body: object): Promise<string> {
  const answer = await world.post(`${pathOf(scene, name)}/comments`, body, { actor: scene.owner });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data.id as string;
}

const queue = (given: Readonly<Record<string, string | boolean>>, query: string, more: Partial<Case> = {}): Case => ({
  entry: "review queue",
  isOpen: true,
  given: () => given,
  http: () => ["GET", `/workflows?limit=10&${query}`],
  ...more,
});

const lists: readonly Case[] = [
  queue({}, "status=open&sort=-priority"),
  queue(
    { kind: "punishment", state: "open", unclaimed: true, order: "-created_at" },
    "type=punishment&status=open&assignee=none&sort=-created_at",
  ),
  queue({ overdue: true }, "overdue=true&status=open&sort=-priority"),
  queue({}, "", {
    given: ({ kept }) => ({ search: (kept["denied"] ?? "").toLowerCase() }),
    http: ({ kept }) => ["GET", `/workflows?limit=10&q=${(kept["denied"] ?? "").toLowerCase()}&status=open&sort=-priority`],
  }),
  queue({ mine: true, order: "created_at" }, "status=open&assignee=@me&sort=created_at", { by: "senior" }),
  queue({}, "", {
    before: async ({ world, owner, kept, ...scene }) => {
      const { data } = (await world.get(pathOf({ kept }, "alone", "blacklist-user"), { actor: owner })).body;
      kept["listed"] = data.subjects[0].id;
      await say({ world, owner, kept, ...scene }, "given", { body: "The second witness answered." });
      kept["comment"] = await say({ world, owner, kept, ...scene }, "given", { body: "So did the third.", visibility: "requester" });
    },
    given: ({ kept }) => ({ subject: kept["listed"] ?? "", state: "approved" }),
    http: ({ kept }) => ["GET", `/workflows?limit=10&subject=${kept["listed"] ?? ""}&status=approved&sort=-priority`],
    isPersonal: true,
    wrong: {
      given: () => ({ subject: "   " }),
      http: () => ["GET", "/workflows?limit=10&status=open&sort=-priority&subject=%20%20%20"],
    },
  }),
  {
    entry: "review comments",
    given: (scene) => called(scene, "given"),
    http: (scene) => ["GET", `${pathOf(scene, "given")}/comments?limit=10`],
    wrong: {
      given: () => ({ reference: "PUN-REQ-999999" }),
      http: () => ["GET", "/workflows/punishment/PUN-REQ-999999/comments?limit=10"],
    },
  },
  {
    entry: "review comment-edit",
    isPersonal: true,
    given: (scene) => ({ ...called(scene, "given"), comment: scene.kept["comment"] ?? "", body: "So did the fourth." }),
    http: (scene) => ["PATCH", `${pathOf(scene, "given")}/comments/${scene.kept["comment"] ?? ""}`, { body: "So did the fourth." }],
    wrong: {
      given: (scene) => ({ ...called(scene, "given"), comment: "none", body: "   " }),
      http: (scene) => ["PATCH", `${pathOf(scene, "given")}/comments/none`, { body: "   " }],
    },
  },
  {
    entry: "review show",
    given: (scene) => called(scene, "voted"),
    by: "admin",
    http: (scene) => ["GET", `${pathOf(scene, "voted", "blacklist-user")}?why_not=true`],
    wrong: {
      given: () => ({ reference: "BLU-REQ-999999" }),
      http: () => ["GET", "/workflows/blacklist-user/BLU-REQ-999999?why_not=true"],
    },
  },
  {
    entry: "review history",
    given: (scene) => called(scene, "alone"),
    http: (scene) => ["GET", `${pathOf(scene, "alone", "blacklist-user")}/history?limit=10`],
    wrong: {
      given: () => ({ reference: "BLU-REQ-999999" }),
      http: () => ["GET", "/workflows/blacklist-user/BLU-REQ-999999/history?limit=10"],
    },
  },
  { entry: "review stats", http: () => ["GET", "/workflows/stats"] },
  { entry: "review stats", given: () => ({ kind: "punishment" }), http: () => ["GET", "/workflows/stats?type=punishment"] },
];

/** Everything is done first, so that what is read has something in it. */
export const reviews: readonly Case[] = [
  ...handling,
  ...verdicts,
  ...reading(["asked", "escalated", "held", "given", "twice", "approved", "denied", "next"]),
  ...lists,
];
