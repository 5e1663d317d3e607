import { why, type Case } from "./scene.ts";

const tomorrow = (): string => new Date(Date.now() + 86_400_000).toISOString();

const people: readonly Case[] = [
  {
    entry: "staff list",
    given: () => ({ role: "senior", status: "active", available: true, name: "senior" }),
    http: () => ["GET", "/staff?limit=10&role=senior&status=active&available=true&q=senior"],
    wrong: { given: () => ({ role: "No Key" }), http: () => ["GET", "/staff?limit=10&role=No%20Key"] },
  },
  {
    entry: "staff edit",
    given: ({ senior }) => ({ user: senior, department: "north", timezone: "Europe/Berlin", availability: "unavailable" }),
    http: ({ senior }) => ["PATCH", `/staff/${senior.id}`, { department: "north", timezone: "Europe/Berlin", availability: "unavailable" }],
    wrong: {
      given: ({ senior }) => ({ user: senior, department: "south", timezone: "Mars" }),
      http: ({ senior }) => ["PATCH", `/staff/${senior.id}`, { department: "south", timezone: "Mars" }],
    },
  },
  {
    entry: "staff quiet-hours",
    given: ({ senior }) => ({ user: senior, from: "22:00", to: "07:00", days: "6, 0", timezone: "Europe/Paris" }),
    http: ({ senior }) => [
      "PATCH",
      `/staff/${senior.id}`,
      { timezone: "Europe/Paris", quiet_hours: [{ days: [6, 0], from: "22:00", to: "07:00" }] },
    ],
    wrong: {
      given: ({ senior }) => ({ user: senior, from: "22:00", to: "late" }),
      http: ({ senior }) => ["PATCH", `/staff/${senior.id}`, { quiet_hours: [{ from: "22:00", to: "late" }] }],
    },
  },
  {
    entry: "staff profile",
    given: ({ senior }) => ({ user: senior }),
    http: ({ senior }) => ["GET", `/staff/${senior.id}/profile`],
    wrong: { given: ({ ann }) => ({ user: ann }), http: ({ ann }) => ["GET", `/staff/${ann.id}/profile`] },
  },
  {
    // About oneself unless told, so there is no outsider.
    entry: "staff quiet-hours",
    by: "senior",
    isOpen: true,
    given: () => ({ none: true }),
    http: ({ senior }) => ["PATCH", `/staff/${senior.id}`, { quiet_hours: null }],
    wrong: {
      given: ({ admin }) => ({ user: admin, none: true }),
      http: ({ admin }) => ["PATCH", `/staff/${admin.id}`, { quiet_hours: null }],
    },
  },
];

const duty: readonly Case[] = [
  {
    entry: "staff loa start",
    by: "admin",
    given: ({ senior }) => ({ user: senior, until: "5d", from: tomorrow() }),
    form: why,
    http: ({ senior }) => ["POST", `/staff/${senior.id}/loa`, { duration: "5d", from: tomorrow(), ...why() }],
    wrong: {
      given: ({ senior }) => ({ user: senior, until: "whenever", from: "sometime" }),
      form: why,
      http: ({ senior }) => ["POST", `/staff/${senior.id}/loa`, { until: "whenever", from: "sometime", ...why() }],
    },
  },
  {
    entry: "staff loa start",
    by: "admin",
    given: ({ senior }) => ({ user: senior, until: "2090-01-01T00:00:00.000Z" }),
    form: why,
    http: ({ senior }) => ["POST", `/staff/${senior.id}/loa`, { until: "2090-01-01T00:00:00.000Z", ...why() }],
    wrong: {
      given: ({ owner }) => ({ user: owner }),
      form: why,
      http: ({ owner }) => ["POST", `/staff/${owner.id}/loa`, why()],
    },
  },
  {
    entry: "staff access",
    given: ({ senior }) => ({ user: senior, permission: "cases.read" }),
    http: ({ senior }) => ["GET", `/staff/${senior.id}/access?permission=cases.read`],
    wrong: {
      given: ({ senior }) => ({ user: senior, permission: "cases.nothing" }),
      http: ({ senior }) => ["GET", `/staff/${senior.id}/access?permission=cases.nothing`],
    },
  },
  {
    entry: "staff loa end",
    given: ({ senior }) => ({ user: senior, ...why() }),
    http: ({ senior }) => ["DELETE", `/staff/${senior.id}/loa`, why()],
    wrong: { given: ({ admin }) => ({ user: admin }), http: ({ admin }) => ["DELETE", `/staff/${admin.id}/loa`] },
  },
  {
    entry: "staff suspend",
    by: "admin",
    given: ({ senior }) => ({ user: senior, until: "7d" }),
    form: why,
    http: ({ senior }) => ["POST", `/staff/${senior.id}/suspend`, { duration: "7d", ...why() }],
    wrong: {
      given: ({ owner }) => ({ user: owner, until: "7d" }),
      form: why,
      http: ({ owner }) => ["POST", `/staff/${owner.id}/suspend`, { duration: "7d", ...why() }],
    },
  },
  {
    entry: "staff reinstate",
    by: "admin",
    given: ({ senior }) => ({ user: senior }),
    form: why,
    http: ({ senior }) => ["POST", `/staff/${senior.id}/reinstate`, why()],
    wrong: {
      given: ({ senior }) => ({ user: senior }),
      form: () => ({ reason: "   " }),
      http: ({ senior }) => ["POST", `/staff/${senior.id}/reinstate`, { reason: "   " }],
    },
  },
];

export const staff: readonly Case[] = [...people, ...duty];
