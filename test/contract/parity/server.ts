import { systemCall } from "../../../src/kernel/call.ts";
import type { Case, Scene } from "./scene.ts";

/** Ids of servers that count on from here in either world. */
const [quarry, delta, alias, unknown] = ["80351110224678912", "80351110224678913", "80351110224678914", "80351110224678915"];

const register = async ({ world, owner }: Scene): Promise<void> => {
  const { status } = await world.post("/servers", { id: delta, name: "Delta" }, { actor: owner });
  if (status !== 201) throw new Error(`it is not registered: ${status.toString()}`);
};

/** A punishment with a word of the owner on it. */
const comment = async ({ world, owner, admin, ann, kept }: Scene): Promise<void> => {
  const body = { user_id: ann.id, action: "warning", reason: "Led the raid of last night." };
  const filed = await world.post("/workflows/punishment", body, { actor: admin });
  kept["request"] = filed.body.reference as string;
  const said = await world.post(`/workflows/punishment/${kept["request"]}/comments`, { body: "One" }, { actor: owner });
  kept["comment"] = said.body.data.id as string;
};
const commentAt = ({ kept }: Scene): string => `/workflows/punishment/${kept["request"] ?? ""}/comments/${kept["comment"] ?? ""}`;
const commentIn = ({ kept }: Scene) => ({ reference: kept["request"] ?? "", comment: kept["comment"] ?? "" });

/** The service looks an invite up in its own time, and notes what came of it: now. */
async function invited({ world, owner, kept }: Scene): Promise<void> {
  await world.app.registry.sweep(systemCall("job", "parity"));
  const { invite, revision } = (await world.get(`/servers/${quarry}`, { actor: owner })).body.data;
  if (invite.status === null) throw new Error("the invite was not looked up");
  kept["revision"] = String(revision);
}

export const registered: readonly Case[] = [
  {
    entry: "intel server register",
    before: register,
    given: ({ bob }) => ({
      server: quarry,
      name: "Quarry",
      status: "partner",
      owner: bob,
      contacts: `${bob.id} head of staff`,
      aliases: alias,
      tags: "mining, friends",
      note: "Friends since 2020.",
      invite: "https://discord.gg/quarry",
    }),
    http: ({ bob }) => [
      "POST",
      "/servers",
      {
        id: quarry,
        name: "Quarry",
        status: "partner",
        owner_user_id: bob.id,
        contacts: [{ user_id: bob.id, role: "head of staff" }],
        aliases: [alias],
        tags: ["mining", "friends"],
        note: "Friends since 2020.",
        invite_code: "quarry",
      },
    ],
    wrong: {
      given: () => ({ server: unknown, contacts: "80351110224678999", icon: "not a hash" }),
      http: () => ["POST", "/servers", { id: unknown, contacts: [{ user_id: "80351110224678999", role: "" }], icon: "not a hash" }],
    },
  },
  {
    entry: "intel server show",
    before: invited,
    given: () => ({ server: alias }),
    http: () => ["GET", `/servers/${alias}`],
    wrong: { given: () => ({ server: unknown }), http: () => ["GET", `/servers/${unknown}`] },
  },
  {
    entry: "intel server edit",
    given: ({ kept }) => ({
      server: quarry,
      status: "merged",
      "merged-into": delta,
      clear: "note",
      tags: "raids",
      revision: Number(kept["revision"]),
    }),
    http: () => ["PATCH", `/servers/${quarry}`, { status: "merged", merged_into: delta, note: null, tags: ["raids"] }],
    wrong: {
      given: () => ({ server: unknown, name: "Nobody" }),
      http: () => ["PATCH", `/servers/${unknown}`, { name: "Nobody" }],
    },
  },
  {
    entry: "intel server list",
    given: () => ({ status: "merged", q: "Quar" }),
    http: () => ["GET", "/servers?limit=10&status=merged&q=Quar"],
  },
  ...["agreements", "incidents"].map((what): Case => ({
    entry: `intel server ${what}`,
    given: () => ({ server: delta }),
    http: () => ["GET", `/servers/${delta}/${what}?limit=10`],
    wrong: { given: () => ({ server: unknown }), http: () => ["GET", `/servers/${unknown}/${what}?limit=10`] },
  })),
  {
    entry: "review comment-edit",
    before: comment,
    given: (scene) => ({ ...commentIn(scene), body: "Two" }),
    http: (scene) => ["PATCH", commentAt(scene), { body: "Two" }],
    wrong: {
      given: (scene) => ({ ...commentIn(scene), comment: "none", body: "Two" }),
      http: (scene) => ["PATCH", commentAt(scene).replace(/[^/]*$/, "none"), { body: "Two" }],
    },
  },
];
