import { expect } from "vitest";
import type { TransactionClient } from "../../src/database/database.ts";
import { roleRules } from "../../src/features/permissions/resolve.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createGround, freshId, ownGuilds as guilds, type Ground } from "./workflows-ground.ts";

export type PeopleGround = Awaited<ReturnType<typeof createPeopleGround>>;

export { guilds };

/** The Discord roles that stand for the staff roles here, in two servers. */
export const roles = {
  moderator: [
    { guildId: guilds[0], roleId: "710000000000000001" },
    { guildId: guilds[1], roleId: "710000000000000002" },
  ],
  helper: [{ guildId: guilds[0], roleId: "720000000000000001" }],
} as const;
type RoleKey = keyof typeof roles;

/** A staff role with the rank and the level of a moderator, or of a viewer. */
function roleNamed(key: RoleKey) {
  const [rank, level] = key === "moderator" ? ([40, "moderator"] as const) : ([10, "viewer"] as const);
  return { key, name: `The ${key}s`, rank, level, discord: roles[key], rules: roleRules(key, level, new Set(), new Set()) };
}

/** A ground with servers and staff roles, and people who decide. */
export async function createPeopleGround() {
  const ground = await createGround();
  const { access, guildState } = ground.services;
  const memberships = new Map<string, { guilds: readonly string[]; held: readonly RoleKey[] }>();
  const known = access.of;
  const staffRoles = Object.keys(roles).map((key) => roleNamed(key as RoleKey));
  const roleOf = (key: string) => staffRoles.find((role) => role.key === key);
  const roleAt = (ref: string) => staffRoles.find(({ discord }) => discord.some(({ guildId, roleId }) => `${guildId}:${roleId}` === ref));
  const membersOf = (userId: string) =>
    (memberships.get(userId)?.guilds ?? []).map((guildId) => ({ guildId, userId, present: true, roleIds: [] }));
  const of = (userId: string) => {
    const { guilds: present = [], held = [] } = memberships.get(userId) ?? {};
    const heldRoles = held.map((key) => ({
      role: roleOf(key),
      refs: roles[key].flatMap(({ guildId, roleId }) => (present.includes(guildId) ? [`${guildId}:${roleId}`] : [])),
    }));
    return { ...known(userId), held: heldRoles, members: [], status: null, overrides: [] };
  };
  Object.assign(access, { of, actorOf: of, resolve: (userId: string) => Promise.resolve(of(userId)), role: roleOf, roleAt });
  Object.assign(guildState, {
    guilds: () => guilds.map((id) => ({ id, name: id, icon: null, ownerId: null, present: true, syncedAt: null })),
    members: membersOf,
  });

  const decider = () => ground.staff("owner");
  const first = [decider(), decider()];
  const second = [decider(), decider()];
  const requester = ground.staff("owner");

  const decide = (kind: string, key: string, body: object, actor: string, query = "") =>
    ground.post(`/workflows/${kind}/${key}/decision${query}`, body, { actor });

  /** The last of as many people as it needs. */
  async function together(kind: string, key: string, body: object, people: readonly string[], wanted: string) {
    for (const person of people) {
      const answer = await decide(kind, key, body, person);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      if (answer.body.status === wanted) return answer.body;
    }
    throw new Error(`${key} was not ${wanted}`);
  }

  return {
    ...ground,
    requester,
    decider: first[0] ?? "",
    decide,
    write: <T>(work: (db: TransactionClient, now: Date) => Promise<T>): Promise<T> =>
      ground.database.write(systemCall("job", "test"), (tx) => work(tx.db, tx.now)),
    person(present: readonly string[] = [], held: readonly RoleKey[] = []): string {
      const id = freshId();
      memberships.set(id, { guilds: present, held });
      return id;
    },
    async file(kind: string, body: object) {
      const answer = await ground.post(`/workflows/${kind}`, body, { actor: requester });
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body as { id: string; reference: string; effects_preview: { key: string; detail: string }[] };
    },
    approve: (kind: string, key: string, more: object = {}) =>
      together(kind, key, { decision: "approve", reason: "It was looked into.", ...more }, first, "approved"),
    reverse: (kind: string, key: string) =>
      together(kind, key, { decision: "reverse", reason: "It was a mistake after all." }, second, "reversed"),
    reverseAgain: (kind: string, key: string) =>
      decide(kind, key, { decision: "reverse", reason: "It was a mistake after all." }, decider()),
    view: async (kind: string, key: string) => (await ground.get(`/workflows/${kind}/${key}`, { actor: requester })).body.data,
    /** Somebody on the roster with a callsign. */
    async employ(userId: string, staffRole = "moderator", status = "active") {
      const { roster, callsigns } = ground.services;
      const cause = { causeReference: "REC-REQ-900000", permission: "workflows.recruitment.decide" as const };
      await ground.database.write(systemCall("job", "test"), async (tx) => {
        await roster.beginTrialInTx(tx, { ...cause, userId, staffRole, trialDays: status === "trial" ? 30 : 0 });
        await callsigns.allocateInTx(tx, { ...cause, userId, pool: "main", roleKey: staffRole });
      });
    },
    addPool: (key = "main", ranges: number[][] = [[1, 99]]) =>
      ground.database.write(systemCall("job", "test"), (tx) =>
        tx.db.callsignPool.create({
          data: {
            key,
            name: key,
            template: "M-{n:03}",
            ranges,
            reserved: [],
            skip: [],
            rankBands: {},
            createdAt: tx.now,
            updatedAt: tx.now,
          },
        }),
      ),
  };
}

/** The part of an effect that tests look at. */
export const brief = (effects: { key: string; status: string }[]) => effects.map(({ key, status }) => `${key}: ${status}`);
export type { Ground };
