import { settled } from "../../features/native-actions-ground.ts";
import { systemCall } from "../../../src/kernel/call.ts";
import { because, linkAccounts, nowhere, why, type Case, type Scene } from "./scene.ts";

const [here, there] = ["80351110224678912", "80351110224678913"];

/** Ann is on a server that is listed, and lets it be seen; others stay hashes, whose order is another in each world. */
async function plantMatch({ world, owner, ann }: Scene): Promise<void> {
  const base = world.sandbox.createGuild({ name: "Raid *Base*", withBot: false });
  base.addMember(ann);
  const record = { kind: "server", subject_id: base.id, category: "raiding", severity: "high", member_policy: "flag" };
  const listed = await world.post("/blacklist", record, { actor: owner });
  if (listed.status !== 201) throw new Error(JSON.stringify(listed.body));
  const asked = { discord_user_id: ann.id, detail: "listed" };
  const { body } = await world.post("/authorize/sessions", asked, { actor: owner });
  await world.sandbox.as(ann).authorize(body.url, { approve: true });
}

/** Of one account; the other is found with it. */
async function plantStrikes(scene: Scene): Promise<void> {
  const { world, owner, ann } = scene;
  await linkAccounts(scene);
  const about = { title: "What was done", subjects: [{ kind: "user", id: ann.id }] };
  const { body } = await world.post("/cases", about, { actor: owner });
  for (const points of [2, 1]) {
    const struck = await world.post(`/cases/${body.data.number as string}/actions`, { kind: "strike", points, ...why() }, { actor: owner });
    if (struck.status !== 201) throw new Error(JSON.stringify(struck.body));
  }
}

/** As the approval of a request grants it. */
async function plantClearance({ world, ann }: Scene): Promise<void> {
  const wanted = { userId: ann.id, fromServerId: here, toServerId: there, validUntil: new Date("2030-01-01T00:00:00.000Z") };
  const origin = { originReference: "PCH-REQ-000001", permission: "workflows.poach.decide" };
  const { database, registry } = world.app;
  await database.write(systemCall("job", "plant"), (tx) => registry.grantClearanceInTx(tx, { ...wanted, ...origin }));
}

async function keepMatch({ world, senior, ann, kept }: Scene): Promise<void> {
  const { body } = await world.get(`/users/${ann.id}/matches`, { actor: senior });
  kept["match"] = body.data[0].id;
}

const match = (kept: Scene["kept"]): string => kept["match"] ?? "";

const granted: readonly Case[] = [
  {
    entry: "intel authorize",
    by: "admin",
    given: ({ bob }) => ({
      user: bob,
      purpose: "investigation",
      detail: "listed",
      minutes: 60,
      request: "rec-req-000001",
      locale: "de",
    }),
    http: ({ bob }) => [
      "POST",
      "/authorize/sessions",
      {
        discord_user_id: bob.id,
        purpose: "investigation",
        detail: "listed",
        ttl_minutes: 60,
        request_reference: "rec-req-000001",
        locale: "de",
      },
    ],
    wrong: {
      given: ({ bob }) => ({ user: bob, request: "the last one", locale: "German" }),
      http: ({ bob }) => ["POST", "/authorize/sessions", { discord_user_id: bob.id, request_reference: "the last one", locale: "German" }],
    },
  },
  {
    entry: "intel status",
    by: "senior",
    given: ({ bob }) => ({ user: bob }),
    http: ({ bob }) => ["GET", `/users/${bob.id}/authorization`],
  },
  {
    // Before anybody is refused about her: refusals are noted a little later, each in its own time, and people are told of them.
    entry: "mydata",
    by: "ann",
    isOpen: true,
    before: async (scene) => {
      for (const plant of [plantMatch, plantStrikes, plantClearance, keepMatch]) await plant(scene);
    },
    http: ({ ann }) => ["GET", `/users/${ann.id}/data-export`],
  },
];

const found: readonly Case[] = [
  {
    entry: "intel servers",
    given: ({ ann }) => ({ user: ann }),
    http: ({ ann }) => ["GET", `/users/${ann.id}/servers?limit=10`],
    wrong: { given: ({ bob }) => ({ user: bob }), http: ({ bob }) => ["GET", `/users/${bob.id}/servers?limit=10`] },
  },
  {
    entry: "intel matches",
    by: "admin",
    given: ({ ann }) => ({ user: ann, status: "grace", kind: "server_blacklist" }),
    http: ({ ann }) => ["GET", `/users/${ann.id}/matches?limit=4&status=grace&kind=server_blacklist`],
    wrong: { given: ({ bob }) => ({ user: bob }), http: ({ bob }) => ["GET", `/users/${bob.id}/matches?limit=4`] },
  },
  {
    entry: "intel matches",
    given: ({ ann }) => ({ user: ann, kind: "watch" }),
    http: ({ ann }) => ["GET", `/users/${ann.id}/matches?limit=4&kind=watch`],
  },
  {
    entry: "intel matches",
    given: ({ ann }) => ({ user: ann, status: "cleared" }),
    http: ({ ann }) => ["GET", `/users/${ann.id}/matches?limit=4&status=cleared`],
  },
  {
    entry: "intel resolve",
    given: ({ ann, kept }) => ({ user: ann, match: match(kept), outcome: "exempt", until: "2027-01-01", revision: 1 }),
    form: why,
    http: ({ ann, kept }) => [
      "POST",
      `/users/${ann.id}/matches/${match(kept)}/resolution`,
      { outcome: "exempt", until: "2027-01-01T00:00:00.000Z", ...why() },
      { headers: { "if-match": '"v1"' } },
    ],
    wrong: {
      given: ({ ann, kept }) => ({ user: ann, match: match(kept), outcome: "dismiss", reason: because, revision: 7 }),
      http: ({ ann, kept }) => [
        "POST",
        `/users/${ann.id}/matches/${match(kept)}/resolution`,
        { outcome: "dismiss", ...why() },
        { headers: { "if-match": '"v7"' } },
      ],
    },
  },
  {
    entry: "intel resolve",
    by: "admin",
    given: ({ ann, kept }) => ({ user: ann, match: match(kept), outcome: "reopen", reason: because }),
    http: ({ ann, kept }) => ["POST", `/users/${ann.id}/matches/${match(kept)}/resolution`, { outcome: "reopen", ...why() }],
    wrong: {
      given: ({ ann }) => ({ user: ann, match: nowhere, outcome: "dismiss", until: "soon", reason: because }),
      http: ({ ann }) => ["POST", `/users/${ann.id}/matches/${nowhere}/resolution`, { outcome: "dismiss", until: "soon", ...why() }],
    },
  },
  {
    entry: "intel strikes",
    given: ({ bob }) => ({ user: bob, alts: true }),
    http: ({ bob }) => ["GET", `/users/${bob.id}/strikes?limit=10&include_alts=true`],
  },
  {
    // Of its many kinds, one.
    entry: "case timeline",
    given: ({ ann }) => ({ user: ann, kind: "match" }),
    http: ({ ann }) => ["GET", `/users/${ann.id}/timeline?limit=10&kind=match`],
  },
  {
    entry: "intel by-hand",
    async before({ world, ann, owner }) {
      world.guild.timeout(ann, 600, { by: owner, reason: because });
      await settled(world);
    },
    given: ({ ann }) => ({ user: ann, action: "timeout" }),
    http: ({ ann }) => ["GET", `/users/${ann.id}/native-actions?limit=10&action=timeout`],
  },
  {
    entry: "intel clearances",
    by: "senior",
    given: ({ ann }) => ({ user: ann }),
    http: ({ ann }) => ["GET", `/users/${ann.id}/clearances?limit=10`],
  },
];

const over: readonly Case[] = [
  {
    entry: "intel refresh",
    given: ({ ann }) => ({ user: ann, force: true, reason: because }),
    http: ({ ann }) => ["POST", `/users/${ann.id}/refresh`, { force: true, ...why() }],
    wrong: { given: ({ bob }) => ({ user: bob }), http: ({ bob }) => ["POST", `/users/${bob.id}/refresh`, {}] },
  },
  {
    entry: "intel profile",
    by: "admin",
    given: ({ ann }) => ({ user: ann }),
    http: ({ ann }) => ["GET", `/users/${ann.id}/authorization`],
  },
  {
    entry: "intel revoke",
    given: ({ ann }) => ({ user: ann }),
    form: why,
    http: ({ ann }) => ["DELETE", `/users/${ann.id}/authorization`, why()],
    wrong: {
      given: ({ bob }) => ({ user: bob }),
      form: () => ({ reason: "    " }),
      http: ({ bob }) => ["DELETE", `/users/${bob.id}/authorization`, { reason: "    " }],
    },
  },
];

/** `/intel` and `/mydata`: what somebody lets be seen, and what is found with it. */
export const intel: readonly Case[] = [...granted, ...found, ...over];
