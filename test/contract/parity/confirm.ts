import { because, nowhere, why, type Case, type Scene } from "./scene.ts";

const suspending = { overrides: [{ key: "staff.suspend", effect: "allow", ...why() }] };

/** A change that `as` asks for over HTTP, and that waits for a second person; its id is kept under `name`. */
const held =
  (name: string, as: "owner" | "admin", about: "ann" | "bob" | "senior") =>
  async ({ world, kept, ...people }: Scene): Promise<void> => {
    const { status, body } = await world.patch(`/permissions/users/${people[about].id}`, suspending, { actor: people[as], signed: true });
    if (status !== 202) throw new Error(JSON.stringify(body));
    kept[name] = body.data.id as string;
  };

/** In Discord people speak for themselves. */
const signed = { signed: true } as const;

const asks: readonly Case[] = [
  {
    entry: "permission grant",
    given: ({ bob }) => ({ user: bob, permission: "staff.suspend" }),
    form: why,
    http: ({ bob }) => ["PATCH", `/permissions/users/${bob.id}`, suspending, signed],
  },
  {
    entry: "permission role allow",
    given: () => ({ role: "viewer", permission: "staff.suspend" }),
    http: () => ["PATCH", "/permissions/roles/viewer", { allow: ["staff.suspend"] }, signed],
  },
  {
    entry: "staffrole edit",
    given: () => ({ key: "viewer", level: "admin" }),
    http: () => ["PATCH", "/staffroles/viewer", { level: "admin" }, signed],
  },
  {
    entry: "setup clients create",
    given: () => ({ name: "site", scopes: "staff.suspend, staff.read" }),
    http: () => ["POST", "/keys", { name: "site", scopes: ["staff.suspend", "staff.read"] }, signed],
  },
  { entry: "confirm list", http: () => ["GET", "/confirmations?limit=4"] },
];

const answers: readonly Case[] = [
  {
    entry: "confirm show",
    before: held("asked", "owner", "ann"),
    by: "admin",
    given: ({ kept }) => ({ code: kept["asked"] ?? "" }),
    http: ({ kept }) => ["GET", `/confirmations/${kept["asked"] ?? ""}`],
    wrong: { given: () => ({ code: nowhere }), http: () => ["GET", `/confirmations/${nowhere}`] },
  },
  {
    entry: "confirm accept",
    before: held("own", "admin", "senior"),
    by: "admin",
    given: ({ kept }) => ({ code: kept["asked"] ?? "" }),
    http: ({ kept }) => ["POST", `/confirmations/${kept["asked"] ?? ""}/confirm`, undefined, signed],
    wrong: {
      given: ({ kept }) => ({ code: kept["own"] ?? "" }),
      http: ({ kept }) => ["POST", `/confirmations/${kept["own"] ?? ""}/confirm`],
    },
  },
  {
    entry: "confirm decline",
    given: ({ kept }) => ({ code: kept["own"] ?? "", ...why() }),
    http: ({ kept }) => ["POST", `/confirmations/${kept["own"] ?? ""}/decline`, why()],
    wrong: {
      given: ({ kept }) => ({ code: kept["asked"] ?? "", reason: because }),
      http: ({ kept }) => ["POST", `/confirmations/${kept["asked"] ?? ""}/decline`, why()],
    },
  },
  {
    entry: "confirm decline",
    before: held("mine", "owner", "senior"),
    given: ({ kept }) => ({ code: kept["mine"] ?? "" }),
    http: ({ kept }) => ["POST", `/confirmations/${kept["mine"] ?? ""}/decline`],
    wrong: { given: () => ({ code: "x" }), http: () => ["POST", "/confirmations/x/decline"] },
  },
];

/** Where a second person has to confirm what is dangerous. */
export const confirmations: readonly Case[] = [...asks, ...answers];
