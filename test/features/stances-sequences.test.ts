// @module-tag both
// @module-tag slow
import fc from "fast-check";
import type { Call } from "../../src/kernel/call.ts";
import type { Tx } from "../../src/database/database.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createEmptyCopy } from "../support/database.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import { createHall, openLists, type Hall } from "./stances-ground.ts";

type Opened = Awaited<ReturnType<typeof openLists>>;
const shared: { opened?: Opened; end: () => Promise<void> } = { end: () => Promise.resolve() };
beforeAll(async () => {
  const copy = await createEmptyCopy();
  const opened = await openLists(copy.url, []);
  Object.assign(shared, {
    opened,
    async end() {
      await opened.close();
      await copy.remove();
    },
  });
});
afterAll(() => shared.end());

let count = 0;
let clock = Date.now() - 86_400_000;
const freshId = () => (4_000_000_000_000_000_000n + BigInt((count += 1))).toString();

const actions = ["ban", "timeout", "role", "kick"] as const;
type Action = (typeof actions)[number];
type Step =
  | { do: "join" | "leave" | "list" | "revoke" | "exempt" | "unexempt" | "ban" | "unban" | "untimeout"; who: number }
  | { do: "rules"; action: Action | null };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom("join" as const, "leave" as const, "list" as const, "revoke" as const), who: fc.nat(1) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("exempt" as const, "unexempt" as const, "ban" as const, "unban" as const, "untimeout" as const),
      who: fc.nat(1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("rules" as const), action: fc.option(fc.constantFrom(...actions)) }) },
);

/** What is so of a person, as simple as it can be said. */
interface Person {
  id: string;
  isPresent: boolean;
  ban: "bot" | "hand" | null;
  /** What the bot did, and did not take back. */
  ours: Action | null;
  /** What the bot did and somebody has lifted. */
  settled: Action | null;
  record: string | null;
  isExempt: boolean;
}

/** What the bot does now about somebody. */
function follow(person: Person, action: Action | null): void {
  const wanted = person.record === null || person.isExempt ? null : action;
  if (wanted !== person.settled) person.settled = null;
  if (person.ours !== null && person.ours !== wanted) {
    if (person.ours === "ban" && person.ban === "bot") person.ban = null;
    person.ours = null;
  }
  if (wanted === null || person.ours !== null || person.settled !== null || !person.isPresent) return;
  person.ours = wanted;
  if (wanted === "ban") person.ban = "bot";
  if (wanted === "ban" || wanted === "kick") person.isPresent = false;
}

async function play(opened: Opened, hall: Hall, steps: readonly Step[]): Promise<void> {
  const { services, by } = opened;
  opened.add(hall);
  const people = [0, 1].map((): Person => {
    return { id: freshId(), isPresent: false, ban: null, ours: null, settled: null, record: null, isExempt: false };
  });
  let action: Action | null = null;
  for (const one of steps) {
    if (one.do === "rules") {
      action = one.action;
      const rule = {
        category: "raid" as const,
        stance: action === null ? ("ignore" as const) : ("apply" as const),
        action,
        role_id: action === "role" ? "70000000000000007" : null,
      };
      await services.lists.stances.put(by(), hall.id, {}, { rules: [rule] });
    } else await act(opened, hall, people[one.who] as Person, one.do);
    await opened.settle();
    for (const person of people) follow(person, action);
    for (const { id, isPresent, ban, ours } of people) {
      const member = hall.members.get(id);
      expect({
        isPresent: member !== undefined,
        ban: hall.bans.has(id) ? (hall.bans.get(id) === "By hand." ? "hand" : "bot") : null,
        role: member?.roles.size ?? 0,
        isTimedOut: (member?.timeout ?? 0) > 0,
      }).toEqual({ isPresent, ban, role: isPresent && ours === "role" ? 1 : 0, isTimedOut: isPresent && ours === "timeout" });
    }
  }
}

async function act(opened: Opened, hall: Hall, person: Person, what: Exclude<Step["do"], "rules">): Promise<void> {
  const { services, by } = opened;
  const { id } = person;
  if (what === "join" && !person.isPresent && person.ban === null) {
    opened.join(hall, id, (clock += 1000));
    person.isPresent = true;
    // Whatever was done before went with them.
    if (person.ours !== "ban") person.ours = null;
  } else if (what === "leave" && person.isPresent) {
    opened.leave(hall, id);
    person.isPresent = false;
  } else if (what === "list" && person.record === null) {
    const input = { kind: "user" as const, subject_id: id, category: "raid" as const, severity: "high" as const, reason_public: "A raid." };
    person.record = (await services.blacklist.create(by(), input)).number;
  } else if (what === "revoke" && person.record !== null) {
    await services.blacklist.revoke(by(), person.record, { reason: "It was somebody else." });
    person.record = null;
  } else if (what === "exempt" && !person.isExempt) {
    await services.lists.exemptions.add(by(), hall.id, { user_id: id, reason: "A friend." });
    person.isExempt = true;
  } else if (what === "unexempt" && person.isExempt) {
    await services.lists.exemptions.remove(by(), hall.id, id);
    person.isExempt = false;
  } else if (what === "ban" && person.ban === null) {
    hall.bans.set(id, "By hand.");
    opened.leave(hall, id);
    Object.assign(person, { ban: "hand", isPresent: false });
  } else if (what === "unban" && person.ban !== null) {
    await opened.unbanByHand(hall, id);
    if (person.ban === "bot") Object.assign(person, { ours: null, settled: "ban" });
    person.ban = null;
  } else if (what === "untimeout" && person.isPresent && person.ours === "timeout") {
    await opened.liftTimeoutByHand(hall, id);
    Object.assign(person, { ours: null, settled: "timeout" });
  }
}

test("whatever happens in whatever order, what stands in Discord is what the rules, records, exemptions and people's own hands make of it", async () => {
  const { opened } = shared;
  if (opened === undefined) throw new Error("nothing is open");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
      await play(opened, createHall(freshId()), steps);
    }),
    { numRuns: sizeOf({ quick: 6, all: 30, long: 2000 }), seed: seedOf(7) },
  );
}, 1_800_000);

test("killed before or after any write, the service loses no action and does none twice", async () => {
  const most = sizeOf({ quick: 1, all: 20, long: 200 });
  let isOver = false;
  for (let at = 1; at <= most && !isOver; at += 1) {
    for (const moment of ["before", "after"] as const) {
      const copy = await createEmptyCopy();
      onTestFinished(copy.remove);
      const hall = createHall(freshId());
      const [userId, other] = [freshId(), freshId()];
      const first = await openLists(copy.url, [hall]);
      await first.services.lists.stances.put(first.by(), hall.id, {}, { rules: [{ category: "raid", stance: "apply", action: "ban" }] });
      const listing = { kind: "user", category: "raid", severity: "high", reason_public: "A raid." } as const;
      first.join(hall, userId, clock);
      await first.services.blacklist.create(first.by(), { ...listing, subject_id: userId });
      hall.bans.set(other, "By hand.");
      const { write } = first.services.database;
      let left = at;
      const isDead = () => left <= 0;
      Object.assign(first.services.database, {
        write: async <T>(call: Call, work: (tx: Tx) => Promise<T>): Promise<T> => {
          if (isDead()) throw new Error("killed");
          left -= 1;
          if (left === 0 && moment === "before") throw new Error("killed");
          const answer = await write(call, work);
          if (left === 0) throw new Error("killed");
          return answer;
        },
      });
      await first.settle().catch(() => undefined);
      isOver = left > 0;
      await first.close();

      const second = await openLists(copy.url, [hall], 120);
      await second.settle();
      const bans = [...first.performed, ...second.performed].filter(({ kind }) => kind === "ban");
      expect(bans.map((ban) => "userId" in ban && ban.userId)).toEqual([userId]);
      expect([...hall.bans.keys()].toSorted()).toEqual([userId, other].toSorted());
      const rows = await second.services.database.read.listAction.findMany();
      expect(rows).toMatchObject([{ userId, state: "done", changed: true }]);
      await second.services.blacklist.revoke(second.by(), "BL-000001", { reason: "It was somebody else." });
      await second.settle();
      expect([...hall.bans.keys()]).toEqual([other]);
      await second.close();
    }
  }
}, 600_000);
