import { why, type Case, type Scene } from "./scene.ts";

const refOf = ({ world: { guild, roles } }: Scene, level: keyof Scene["world"]["roles"]) => ({
  guild_id: guild.id,
  role_id: roles[level].id,
});

/** Lets the Discord role of the moderators stand for nothing, so that it can be mapped. */
async function free({ world, owner }: Scene): Promise<void> {
  const { status, body } = await world.patch("/staffroles/moderator", { discord: [] }, { actor: owner });
  if (status !== 200) throw new Error(JSON.stringify(body));
}

export const staffroles: readonly Case[] = [
  { entry: "staffrole list", by: "senior", http: () => ["GET", "/staffroles?limit=10"] },
  {
    entry: "staffrole show",
    by: "senior",
    given: () => ({ key: "senior" }),
    http: () => ["GET", "/staffroles/senior"],
    wrong: { given: () => ({ key: "No Key" }), http: () => ["GET", "/staffroles/No%20Key"] },
  },
  {
    entry: "staffrole map",
    before: free,
    given: ({ world }) => ({ key: "viewer", "discord-role": world.roles.moderator }),
    http: (scene) => ["PATCH", "/staffroles/viewer", { discord: [refOf(scene, "viewer"), refOf(scene, "moderator")] }],
    wrong: {
      given: ({ world }) => ({ key: "viewer", "discord-role": world.roles.senior }),
      http: (scene) => ["PATCH", "/staffroles/viewer", { discord: [refOf(scene, "viewer"), refOf(scene, "senior")] }],
    },
  },
  {
    entry: "staffrole unmap",
    given: ({ world }) => ({ key: "viewer", "discord-role": world.roles.viewer }),
    http: (scene) => ["PATCH", "/staffroles/viewer", { discord: [refOf(scene, "moderator")] }],
    wrong: {
      given: ({ world }) => ({ key: "nobody", "discord-role": world.roles.viewer }),
      http: () => ["PATCH", "/staffroles/nobody", { discord: [] }],
    },
  },
  {
    entry: "staffrole create",
    given: ({ world }) => ({ key: "trainee", name: "Trainee", level: "viewer", rank: 5, capacity: 3, "discord-role": world.roles.viewer }),
    http: (scene) => [
      "PUT",
      "/staffroles/trainee",
      { name: "Trainee", level: "viewer", rank: 5, capacity: 3, discord: [refOf(scene, "viewer")] },
      { headers: { "If-None-Match": "*" } },
    ],
    wrong: {
      given: () => ({ key: "senior", name: "Other", level: "viewer", rank: 5 }),
      http: () => [
        "PUT",
        "/staffroles/senior",
        { name: "Other", level: "viewer", rank: 5, discord: [] },
        { headers: { "If-None-Match": "*" } },
      ],
    },
  },
  {
    entry: "staffrole capacity",
    by: "admin",
    given: () => ({ key: "trainee", capacity: 7 }),
    http: () => ["PATCH", "/staffroles/trainee", { capacity: 7 }],
    wrong: { given: () => ({ key: "owner", capacity: 7 }), http: () => ["PATCH", "/staffroles/owner", { capacity: 7 }] },
  },
  {
    entry: "staffrole capacity",
    given: () => ({ key: "trainee" }),
    http: () => ["PATCH", "/staffroles/trainee", { capacity: null }],
  },
  {
    entry: "staffrole edit",
    given: () => ({ key: "trainee", name: "Beginner", level: "moderator", rank: 6, "callsign-pool": "north" }),
    http: () => ["PATCH", "/staffroles/trainee", { name: "Beginner", level: "moderator", rank: 6, callsign_pool: "north" }],
    wrong: { given: () => ({ key: "trainee", name: "   " }), http: () => ["PATCH", "/staffroles/trainee", { name: "   " }] },
  },
  {
    entry: "staffrole delete",
    given: () => ({ key: "trainee" }),
    form: why,
    http: () => ["DELETE", "/staffroles/trainee", why()],
    wrong: { given: () => ({ key: "nobody" }), form: why, http: () => ["DELETE", "/staffroles/nobody", why()] },
  },
];
