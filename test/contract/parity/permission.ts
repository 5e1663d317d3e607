import { why, type Case, type Scene } from "./scene.ts";

/** What of one person is changed. */
const entryOf = (key: string, effect: "allow" | "deny" | "clear", more: object = {}) => ({
  overrides: [{ key, effect, ...more, ...why() }],
});
const inSevenDays = (): string => new Date(Date.now() + 7 * 86_400_000).toISOString();
const here = ({ world }: Scene) => ({ scope: world.guild.id });

const people: readonly Case[] = [
  {
    entry: "permission grant",
    given: ({ senior }) => ({ permission: "cases.confidential", user: senior, until: "7d", here: true }),
    form: why,
    http: (scene) => [
      "PATCH",
      `/permissions/users/${scene.senior.id}`,
      entryOf("cases.confidential", "allow", { expires_at: inSevenDays(), ...here(scene) }),
    ],
    wrong: {
      given: ({ bob }) => ({ permission: "cases.note", user: bob, until: "someday" }),
      form: why,
      http: ({ bob }) => ["PATCH", `/permissions/users/${bob.id}`, entryOf("cases.note", "allow", { expires_at: "someday" })],
    },
  },
  {
    entry: "permission grant",
    by: "admin",
    given: ({ bob }) => ({ permission: "cases.read", user: bob, until: "2090-01-01T00:00:00.000Z" }),
    form: why,
    http: ({ bob }) => [
      "PATCH",
      `/permissions/users/${bob.id}`,
      entryOf("cases.read", "allow", { expires_at: "2090-01-01T00:00:00.000Z" }),
    ],
    wrong: {
      given: ({ bob }) => ({ permission: "clients.manage", user: bob }),
      form: why,
      http: ({ bob }) => ["PATCH", `/permissions/users/${bob.id}`, entryOf("clients.manage", "allow")],
    },
  },
  {
    entry: "permission deny",
    by: "admin",
    given: ({ senior }) => ({ permission: "cases.note", user: senior }),
    form: why,
    http: ({ senior }) => ["PATCH", `/permissions/users/${senior.id}`, entryOf("cases.note", "deny")],
    wrong: {
      given: ({ owner }) => ({ permission: "cases.note", user: owner }),
      form: why,
      http: ({ owner }) => ["PATCH", `/permissions/users/${owner.id}`, entryOf("cases.note", "deny")],
    },
  },
  {
    entry: "permission user",
    given: ({ senior }) => ({ user: senior }),
    http: ({ senior }) => ["GET", `/permissions/users/${senior.id}`],
  },
  {
    entry: "permission effective",
    by: "admin",
    given: ({ senior }) => ({ user: senior, here: true }),
    http: ({ world, senior }) => ["GET", `/permissions/users/${senior.id}/effective?guild_id=${world.guild.id}`],
  },
  {
    entry: "permission effective",
    given: ({ senior }) => ({ user: senior }),
    http: ({ senior }) => ["GET", `/permissions/users/${senior.id}/effective`],
  },
  {
    entry: "permission explain",
    given: ({ senior }) => ({ user: senior, permission: "cases.note" }),
    http: ({ senior }) => ["POST", "/permissions/explain", { user_id: senior.id, key: "cases.note" }],
    wrong: {
      given: ({ senior }) => ({ user: senior, permission: "cases.nothing" }),
      http: ({ senior }) => ["POST", "/permissions/explain", { user_id: senior.id, key: "cases.nothing" }],
    },
  },
  {
    entry: "permission explain",
    by: "admin",
    given: ({ senior }) => ({ user: senior, permission: "cases.confidential", here: true }),
    http: ({ world, senior }) => [
      "POST",
      "/permissions/explain",
      { user_id: senior.id, key: "cases.confidential", context: { guild_id: world.guild.id } },
    ],
  },
  {
    entry: "permission simulate",
    by: "admin",
    given: ({ senior }) => ({ user: senior, allow: "blacklist.purge", deny: "cases.read cases.create", clear: "cases.note", here: true }),
    http: (scene) => [
      "POST",
      "/permissions/simulate",
      {
        changes: [
          {
            user_id: scene.senior.id,
            allow: ["blacklist.purge"],
            deny: ["cases.read", "cases.create"],
            clear: ["cases.note"],
            ...here(scene),
          },
        ],
      },
    ],
    wrong: {
      given: ({ senior }) => ({ user: senior, role: "senior", allow: "cases.read", deny: "cases.read" }),
      http: ({ senior }) => [
        "POST",
        "/permissions/simulate",
        { changes: [{ user_id: senior.id, role_key: "senior", allow: ["cases.read"], deny: ["cases.read"] }] },
      ],
    },
  },
  {
    entry: "permission clear",
    given: ({ senior }) => ({ permission: "cases.note", user: senior }),
    form: why,
    http: ({ senior }) => ["PATCH", `/permissions/users/${senior.id}`, entryOf("cases.note", "clear")],
    wrong: {
      given: ({ senior }) => ({ permission: "No Key", user: senior }),
      form: why,
      http: ({ senior }) => ["PATCH", `/permissions/users/${senior.id}`, entryOf("No Key", "clear")],
    },
  },
  {
    entry: "permission clear-all",
    given: ({ bob }) => ({ user: bob }),
    form: why,
    http: ({ bob }) => ["DELETE", `/permissions/users/${bob.id}`, why()],
    wrong: {
      given: ({ bob }) => ({ user: bob }),
      form: () => ({ reason: "   " }),
      http: ({ bob }) => ["DELETE", `/permissions/users/${bob.id}`, { reason: "   " }],
    },
  },
];

const roles: readonly Case[] = [
  { entry: "permission catalog", by: "senior", http: () => ["GET", "/permissions/catalog?limit=10"] },
  {
    entry: "permission simulate",
    given: () => ({ role: "senior", allow: "audit.read, audit.export" }),
    http: () => ["POST", "/permissions/simulate", { changes: [{ role_key: "senior", allow: ["audit.read", "audit.export"] }] }],
  },
  {
    entry: "permission role allow",
    given: () => ({ role: "senior", permission: "audit.read" }),
    http: () => ["PATCH", "/permissions/roles/senior", { allow: ["audit.read"] }],
    wrong: {
      given: () => ({ role: "nobody", permission: "audit.read" }),
      http: () => ["PATCH", "/permissions/roles/nobody", { allow: ["audit.read"] }],
    },
  },
  {
    entry: "permission role deny",
    by: "admin",
    given: () => ({ role: "senior", permission: "cases.create" }),
    http: () => ["PATCH", "/permissions/roles/senior", { deny: ["cases.create"] }],
    wrong: {
      given: () => ({ role: "owner", permission: "cases.create" }),
      http: () => ["PATCH", "/permissions/roles/owner", { deny: ["cases.create"] }],
    },
  },
  { entry: "permission role list", by: "senior", http: () => ["GET", "/permissions/roles?limit=10"] },
  {
    entry: "permission role show",
    by: "senior",
    given: () => ({ role: "senior" }),
    http: () => ["GET", "/permissions/roles/senior"],
    wrong: { given: () => ({ role: "No Key" }), http: () => ["GET", "/permissions/roles/No%20Key"] },
  },
  {
    entry: "permission role clear",
    given: () => ({ role: "senior", permission: "cases.create" }),
    http: () => ["PATCH", "/permissions/roles/senior", { clear: ["cases.create"] }],
    wrong: {
      given: () => ({ role: "senior", permission: "No Key" }),
      http: () => ["PATCH", "/permissions/roles/senior", { clear: ["No Key"] }],
    },
  },
];

export const permissions: readonly Case[] = [...people, ...roles];
