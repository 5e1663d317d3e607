import { failAction, holdAction } from "../../features/stances-community.ts";
import type { GuildHandle } from "../../../sandbox/index.ts";
import type { World } from "../../support/world.ts";
import { nowhere, type Case, type Scene } from "./scene.ts";

type Channel = ReturnType<GuildHandle["createChannel"]>;

/** The channels of each world. */
const made = new WeakMap<World, readonly [review: Channel, board: Channel]>();

function channelsOf({ world }: Scene): readonly [review: Channel, board: Channel] {
  const known = made.get(world) ?? ([world.guild.createChannel("reviews"), world.guild.createChannel("board")] as const);
  made.set(world, known);
  return known;
}

const places: readonly Case[] = [
  { entry: "setup wizard", by: "senior", http: () => ["GET", "/staffroles?limit=200"] },
  {
    entry: "setup channels",
    given: (scene) => ({ review: channelsOf(scene)[0], board: channelsOf(scene)[1] }),
    http: (scene) => [
      "PUT",
      `/channels/${scene.world.guild.id}`,
      { review: channelsOf(scene)[0].id, board: channelsOf(scene)[1].id, alerts: null },
    ],
  },
  {
    entry: "setup channels",
    given: (scene) => ({ alerts: channelsOf(scene)[1], without: "board" }),
    http: (scene) => [
      "PUT",
      `/channels/${scene.world.guild.id}`,
      { review: channelsOf(scene)[0].id, alerts: channelsOf(scene)[1].id, board: null },
    ],
  },
  { entry: "setup alerts show", http: () => ["GET", "/channels?limit=200"] },
  {
    entry: "setup alerts mute",
    given: () => ({ kind: "match_opened" }),
    http: (scene) => ["PUT", `/channels/${scene.world.guild.id}`, { ...asChosen(scene), muted_alerts: ["match_opened"] }],
  },
  {
    entry: "setup alerts unmute",
    given: () => ({ kind: "match_opened" }),
    http: (scene) => ["PUT", `/channels/${scene.world.guild.id}`, asChosen(scene)],
  },
];

/** The channels as the case before left them. */
function asChosen(scene: Scene): object {
  const [review, alerts] = channelsOf(scene);
  return { review: review.id, alerts: alerts.id, board: null };
}

const at = (scene: Scene, path: string): string => `/guilds/${scene.world.guild.id}/${path}`;
const raids = { list: "own", category: "raid", stance: "apply", action: "kick", min_severity: "high" };

/** Something waits in the server that nobody acts on. */
const hold = ({ world, bob }: Scene): Promise<void> => holdAction(world, bob.id);

/** Something could not be taken back. */
const fail = ({ world, bob }: Scene): Promise<void> => failAction(world, bob.id);

const lists: readonly Case[] = [
  { entry: "setup lists show", http: (scene) => ["GET", at(scene, "stance")] },
  {
    entry: "setup lists set",
    given: () => ({ category: "raid", stance: "apply", action: "kick", severity: "high" }),
    http: (scene) => ["PUT", at(scene, "stance"), { rules: [raids] }],
  },
  {
    entry: "setup lists exempt",
    given: ({ bob }) => ({ user: bob, reason: "A friend of the house." }),
    http: (scene) => ["POST", at(scene, "exemptions"), { user_id: scene.bob.id, reason: "A friend of the house." }],
  },
  { entry: "setup lists exemptions", http: (scene) => ["GET", at(scene, "exemptions?limit=10")] },
  {
    entry: "setup lists unexempt",
    given: ({ bob }) => ({ user: bob }),
    http: (scene) => ["DELETE", at(scene, `exemptions/${scene.bob.id}`)],
  },
  { entry: "setup lists held", http: (scene) => ["GET", at(scene, "held-actions")] },
  { entry: "blacklist failed", before: fail, http: (scene) => ["GET", at(scene, "list-actions?state=failed&limit=10")] },
  { entry: "setup lists confirm", before: hold, http: (scene) => ["POST", at(scene, "held-actions/confirm")] },
  { entry: "setup lists undo", before: hold, http: (scene) => ["POST", at(scene, "held-actions/undo")] },
];

const asked = { question: "What happened?", required: true };

const policies: readonly Case[] = [
  {
    entry: "setup appeal",
    before: async ({ world, owner }) => void (await world.put("/appeals/questions", { questions: [asked] }, { actor: owner })),
    given: () => ({ number: 1, question: "What will you do differently?" }),
    http: () => ["PUT", "/appeals/questions", { questions: [{ ...asked, question: "What will you do differently?" }] }],
    wrong: {
      given: () => ({ question: asked.question }),
      http: () => ["PUT", "/appeals/questions", { questions: [asked, { question: asked.question }] }],
    },
  },
  {
    entry: "setup policy",
    given: () => ({
      kind: "alt-request",
      approvals: 2,
      "approvals-grave": 3,
      reversals: 2,
      "deny-needs-majority": true,
      "blind-votes": true,
      notify: "none",
      prefix: "TWIN",
      "first-touch": "2h",
      decision: "3d",
      expiry: "2w",
      "cool-down": "5d",
      claim: "30m",
      info: "4d",
    }),
    http: () => [
      "PATCH",
      "/workflows/policies/alt-request",
      {
        approvals: 2,
        approvals_grave: 3,
        reversals: 2,
        deny_needs_majority: true,
        blind_votes: true,
        notify: "none",
        prefix: "TWIN",
        first_touch_seconds: 7200,
        decision_seconds: 259_200,
        expiry_seconds: 1_209_600,
        cool_down_seconds: 432_000,
        claim_seconds: 1800,
        info_seconds: 345_600,
      },
    ],
    wrong: {
      given: () => ({ kind: "alt-request", decision: "soon", prefix: "t-" }),
      http: () => ["PATCH", "/workflows/policies/alt-request", { decision_seconds: "soon", prefix: "t-" }],
    },
  },
  { entry: "setup policies", by: "admin", http: () => ["GET", "/workflows/policies?limit=10"] },
  {
    entry: "setup policy-reset",
    given: () => ({ kind: "alt-request" }),
    http: () => ["DELETE", "/workflows/policies/alt-request"],
  },
];

const hookOf = ({ kept }: { kept: Record<string, string> }): string => kept["webhook"] ?? "";
/** No address of these answers. */
const url = "https://127.0.0.1:1/";
const webhooks: readonly Case[] = [
  {
    entry: "setup webhooks add",
    given: () => ({ name: "desk", url: "https://client.example/", types: "blacklist.*, owner.changed" }),
    http: () => ["POST", "/webhooks", { name: "desk", url: "https://client.example/", types: ["blacklist.*", "owner.changed"] }],
    wrong: { given: () => ({ name: "shelf", url }), http: () => ["POST", "/webhooks", { name: "shelf", url }] },
  },
  {
    entry: "setup webhooks list",
    before: async ({ world, owner, kept }) => {
      const { body } = await world.get("/webhooks", { actor: owner });
      kept["webhook"] = body.data[0].id as string;
    },
    http: () => ["GET", "/webhooks?limit=10"],
  },
  ...(["pause", "resume"] as const).map((verb): Case => ({
    entry: `setup webhooks ${verb}`,
    given: (ground) => ({ webhook: hookOf(ground) }),
    http: (ground) => ["PATCH", `/webhooks/${hookOf(ground)}`, { state: verb === "pause" ? "paused" : "active" }],
    wrong: {
      given: () => ({ webhook: nowhere }),
      http: () => ["PATCH", `/webhooks/${nowhere}`, { state: verb === "pause" ? "paused" : "active" }],
    },
  })),
  {
    entry: "setup webhooks rotate",
    given: (ground) => ({ webhook: hookOf(ground) }),
    http: (ground) => ["POST", `/webhooks/${hookOf(ground)}/rotate`],
  },
  {
    entry: "setup webhooks test",
    given: (ground) => ({ webhook: hookOf(ground) }),
    http: (ground) => ["POST", `/webhooks/${hookOf(ground)}/test`],
  },
  {
    entry: "setup webhooks deliveries",
    before: async ({ world, owner, kept }) => {
      const { body } = await world.get(`/webhooks/${kept["webhook"] ?? ""}/deliveries`, { actor: owner });
      kept["delivery"] = body.data[0].id as string;
    },
    given: (ground) => ({ webhook: hookOf(ground) }),
    http: (ground) => ["GET", `/webhooks/${hookOf(ground)}/deliveries?limit=10`],
  },
  {
    entry: "setup webhooks remove",
    given: (ground) => ({ webhook: hookOf(ground) }),
    http: (ground) => ["DELETE", `/webhooks/${hookOf(ground)}`],
  },
];

const clients: readonly Case[] = [
  {
    entry: "setup clients create",
    given: () => ({ name: "site", scopes: "staff.*, blacklist.check", delegation: "trusted", days: 30 }),
    http: () => ["POST", "/keys", { name: "site", scopes: ["staff.*", "blacklist.check"], delegation: "trusted", expires_days: 30 }],
    wrong: {
      given: () => ({ name: "site", scopes: "staff.nothing" }),
      http: () => ["POST", "/keys", { name: "site", scopes: ["staff.nothing"] }],
    },
  },
  {
    entry: "setup clients list",
    before: async ({ world, owner, kept }) => {
      const { body } = await world.get("/keys?q=site", { actor: owner });
      kept["client"] = body.data[0].id as string;
    },
    given: () => ({ state: "active", name: "site" }),
    http: () => ["GET", "/keys?limit=10&state=active&q=site"],
    wrong: { given: () => ({ name: "   " }), http: () => ["GET", "/keys?limit=10&q=%20%20%20"] },
  },
  {
    entry: "setup clients edit",
    given: ({ kept }) => ({ client: kept["client"] ?? "", name: "shop", scopes: "staff.read", days: 90 }),
    http: ({ kept }) => ["PATCH", `/keys/${kept["client"] ?? ""}`, { name: "shop", scopes: ["staff.read"], expires_days: 90 }],
    wrong: {
      given: ({ kept }) => ({ client: kept["client"] ?? "", scopes: "Not one" }),
      http: ({ kept }) => ["PATCH", `/keys/${kept["client"] ?? ""}`, { scopes: ["Not", "one"] }],
    },
  },
  {
    entry: "setup clients show",
    given: ({ kept }) => ({ client: kept["client"] ?? "" }),
    http: ({ kept }) => ["GET", `/keys/${kept["client"] ?? ""}`],
    wrong: { given: () => ({ client: nowhere }), http: () => ["GET", `/keys/${nowhere}`] },
  },
  {
    entry: "setup clients rotate",
    given: ({ kept }) => ({ client: kept["client"] ?? "", grace: "2d" }),
    http: ({ kept }) => ["POST", `/keys/${kept["client"] ?? ""}/rotate`, { grace_seconds: 172_800 }],
    wrong: {
      given: ({ kept }) => ({ client: kept["client"] ?? "", grace: "soon" }),
      http: ({ kept }) => ["POST", `/keys/${kept["client"] ?? ""}/rotate`, { grace_seconds: "soon" }],
    },
  },
  {
    entry: "setup clients revoke",
    given: ({ kept }) => ({ client: kept["client"] ?? "" }),
    http: ({ kept }) => ["DELETE", `/keys/${kept["client"] ?? ""}`],
    wrong: { given: () => ({ client: nowhere }), http: () => ["DELETE", `/keys/${nowhere}`] },
  },
  ...webhooks,
  { entry: "audit checkpoint", http: () => ["GET", "/audit/checkpoint"] },
];

export const setup: readonly Case[] = [...places, ...lists, ...policies, ...clients];
