// @module-tag sqlite
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FeedRefused, followPage, type FeedEntry, type FeedPage, type Standing } from "../../src/features/follows/feed.ts";
import { seedOf, sizeOf } from "../support/size.ts";

const deeds = ["create", "create", "change", "move", "revoke", "purge", "read", "restart"] as const;
type Deed = (typeof deeds)[number];
type Step = { deed: Deed; which: number };

/** A list as its origin keeps it: numbers in order, and of a purged record the purge alone. */
function createOrigin() {
  let seq = 0;
  let told: FeedEntry[] = [];
  const records = new Map<string, { revision: number; isActive: boolean }>();

  function tell(id: string, change: string, isRetracted: boolean): void {
    const revision = records.get(id)?.revision ?? 1;
    const at = new Date("2026-01-01T00:00:00.000Z");
    const about = { kind: "user", subject_id: "80351110224678912", category: "raid", severity: "high", recommended_action: null } as const;
    const record = { id, revision, ...about, status: isRetracted ? "revoked" : "active", starts_at: at, expires_at: null };
    seq += 1;
    told.push({
      seq,
      change,
      retract: isRetracted,
      record_id: id,
      number: `BL-${id}`,
      revision,
      record: change === "purged" ? null : record,
      digest: change === "purged" ? "" : `of ${id} ${revision.toString()}`,
    });
  }

  return {
    get told(): readonly FeedEntry[] {
      return told;
    },
    active: () => [...records].flatMap(([id, { isActive }]) => (isActive ? [id] : [])).toSorted(),
    act({ deed, which }: Step): void {
      if (deed === "create") {
        const id = `r${seq.toString()}`;
        records.set(id, { revision: 1, isActive: true });
        return tell(id, "created", false);
      }
      const those = [...records].filter(([, { isActive }]) => isActive === (deed !== "purge"));
      const found = those[which % Math.max(those.length, 1)];
      if (found === undefined) return;
      const [id, record] = found;
      record.revision += 1;
      if (deed === "revoke") record.isActive = false;
      if (deed === "purge") told = told.filter((entry) => entry.record_id !== id);
      // Who follows one category hears that the record left it, and who follows the other that it came.
      if (deed === "move") tell(id, "updated", false);
      tell(id, deed === "purge" ? "purged" : deed === "revoke" ? "revoked" : "updated", deed === "purge" || deed === "revoke");
      if (deed === "purge") records.delete(id);
    },
  };
}

const unread: Standing = { cursor: null, page: [], vanished: [], lastSeq: 0, unexplained: 0, explainable: 0 };

/** Who follows it: where the feed stands and what it said, which is all that outlives a restart. */
function createFollower(size: number) {
  let standing = unread;
  let known = new Map<string, { revision: number; isActive: boolean }>();

  /** One page that begins after a cursor, as the origin answers it. */
  function answer(told: readonly FeedEntry[], cursor: string | null, most: number): FeedPage {
    const left = told.filter(({ seq }) => seq > Number(cursor ?? 0));
    const data = left.slice(0, most);
    const resume = (data.at(-1)?.seq ?? Number(cursor ?? 0)).toString();
    return { data, page: { next_cursor: left.length > most ? resume : null }, meta: { resume_cursor: resume } };
  }
  function take(cursor: string | null, page: FeedPage): void {
    const revisions = new Map([...known].map(([id, { revision }]) => [id, revision]));
    const { standing: next, fresh } = followPage(standing, { cursor, page, known: revisions });
    standing = next;
    for (const { change, record_id: id, revision, retract } of fresh)
      if (change === "purged") known.delete(id);
      else known.set(id, { revision, isActive: !retract });
  }
  return {
    said: () => [...known].flatMap(([id, { isActive }]) => (isActive ? [id] : [])).toSorted(),
    lastSeq: () => standing.lastSeq,
    /** What the origin answers next, all on one page. */
    next: (told: readonly FeedEntry[]) => answer(told, standing.cursor, Infinity),
    takeNext: (page: FeedPage): void => take(standing.cursor, page),
    read(told: readonly FeedEntry[]): void {
      for (let cursor = standing.cursor; ;) {
        const page = answer(told, cursor, size);
        take(cursor, page);
        if (page.page.next_cursor === null) return;
        cursor = page.meta.resume_cursor;
      }
    },
    restart(): void {
      standing = JSON.parse(JSON.stringify(standing)) as Standing;
      known = new Map(JSON.parse(JSON.stringify([...known])) as [string, { revision: number; isActive: boolean }][]);
    },
  };
}

const stories = fc.array(fc.record({ deed: fc.constantFrom(...deeds), which: fc.nat(30) }), { minLength: 1, maxLength: 60 });
const sizes = fc.integer({ min: 1, max: 7 });
const runs = { numRuns: sizeOf({ quick: 500, all: 8000, long: 200_000 }), seed: seedOf(12) };

function play(story: readonly Step[], size: number) {
  const [origin, follower] = [createOrigin(), createFollower(size)];
  for (const step of story)
    if (step.deed === "read") follower.read(origin.told);
    else if (step.deed === "restart") follower.restart();
    else origin.act(step);
  return { origin, follower };
}

/** Ways to change a page so that it cannot be true; undefined where there is nothing to change. */
const forgeries: Readonly<Record<string, (data: readonly FeedEntry[], at: number, lastSeq: number) => FeedEntry[] | undefined>> = {
  reorder: (data, at) => {
    const [one, other] = [data[at], data[at + 1]];
    return one && other && [...data.slice(0, at), other, one, ...data.slice(at + 2)];
  },
  repeat: (data, at) => [...data.slice(0, at + 1), ...data.slice(at)],
  "name another record": (data, at) => withOther(data, at, (entry) => ({ ...entry, record_id: `${entry.record_id}x` })),
  "skip a revision": (data, at) => {
    const isSecond = data[at - 1]?.record_id === data[at]?.record_id && data[at - 1]?.revision === data[at]?.revision;
    return isSecond || at === 0 ? undefined : withOther(data, at, (entry) => ({ ...entry, revision: entry.revision + 1 }));
  },
  "leave out what was told": (data, at, lastSeq) => ((data[at]?.seq ?? Infinity) <= lastSeq ? data.toSpliced(at, 1) : undefined),
};
/** A purge stands for entries that nobody can see any more, so some other purge might be as true. */
function withOther(data: readonly FeedEntry[], at: number, change: (entry: FeedEntry) => FeedEntry): FeedEntry[] | undefined {
  const entry = data[at];
  return entry === undefined || entry.change === "purged" ? undefined : data.with(at, change(entry));
}

describe("whatever happens at the origin, in whatever pages it is read and whenever the follower restarts", () => {
  test("the follower says what the origin says, and finds nothing wrong", () => {
    fc.assert(
      fc.property(stories, sizes, (story, size) => {
        const { origin, follower } = play(story, size);
        follower.read(origin.told);
        expect(follower.said()).toEqual(origin.active());
      }),
      runs,
    );
  });

  test.each(Object.keys(forgeries))("a feed that was changed is refused, and nothing of it is taken: %s", (name) => {
    let forged = 0;
    fc.assert(
      fc.property(stories, sizes, fc.nat(100), (story, size, where) => {
        const { origin, follower } = play(story, size);
        const page = follower.next(origin.told);
        const data = forgeries[name]?.(page.data, where % Math.max(page.data.length, 1), follower.lastSeq());
        if (data === undefined || page.data.length === 0) return;
        forged += 1;
        const before = follower.said();
        expect(() => follower.takeNext({ ...page, data })).toThrow(FeedRefused);
        expect(follower.said()).toEqual(before);
        follower.read(origin.told);
        expect(follower.said()).toEqual(origin.active());
      }),
      runs,
    );
    expect(forged).toBeGreaterThan(runs.numRuns / 10);
  });
});
