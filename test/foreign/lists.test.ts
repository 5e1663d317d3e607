// @module-tag both
// @module-tag slow
import fc from "fast-check";
import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { freshId } from "../contract/document.ts";
import { often, oneOf } from "../contract/fuzz/values.ts";
import { createFollower, createTeller, follow, saidBy, type Follower } from "../features/follows-ground.ts";
import { isBanned, within } from "../features/stances-community.ts";
import { hostileRuns } from "../support/size.ts";
import { bytesOf, hostileTextsOf, largeText, maybeSpoiled, spoiledText } from "./hostile-values.ts";
import { createWatch, type Watch } from "./watch.ts";
import { createWire, wires, type Wire } from "./wire.ts";

const people = ["{0}", "{1}", "{2}"];
/** People of the community stand in a list by their places; everybody else is a stranger. */
const subjects = fc.oneof(
  oneOf(...people),
  fc.nat().map(freshId),
  oneOf("evil.example", "https://evil.example/a", "bücher.example", "discord.gg/abc", "*.evil.example"),
);
const words = {
  kind: oneOf("user", "user", "server", "domain", "invite"),
  category: oneOf("raid", "scam", "other", "ban_evasion"),
  severity: oneOf("low", "medium", "high", "critical"),
  action: fc.constantFrom(null, "ban", "kick"),
  time: oneOf("2026-01-01T00:00:00.000Z", "2099-01-01T00:00:00Z", "2026-01-01T00:00:00.000+02:00"),
};

const record = fc.record({
  revision: fc.constant(1),
  kind: words.kind,
  subject_id: subjects,
  category: words.category,
  severity: words.severity,
  status: oneOf("active", "scheduled", "revoked"),
  recommended_action: words.action,
  starts_at: words.time,
  expires_at: fc.option(words.time),
});
const entries = fc
  .array(fc.tuple(maybeSpoiled(record, 4), often(4, fc.constant<object>({}), fc.constant({ change: "purged", retract: true }))), {
    maxLength: 6,
  })
  .map((all) =>
    all.map(([about, more], index) => {
      const seq = index + 1;
      const held = typeof about === "object" && about !== null && !Array.isArray(about) ? { id: `r${seq.toString()}`, ...about } : about;
      const entry = {
        seq,
        at: "2026-01-01T00:00:00.000Z",
        change: "created",
        retract: false,
        record_id: `r${seq.toString()}`,
        number: `BL-${seq.toString()}`,
        revision: 1,
      };
      return { ...entry, record: held, ...more };
    }),
  );
const cursors = fc.option(fc.oneof(oneOf("end", "1", "x".repeat(3000)), hostileTextsOf));
const page = fc.tuple(entries, often(4, fc.constant(null), cursors), often(4, fc.constant("end"), cursors)).map(([data, next, resume]) => ({
  data,
  page: { next_cursor: next },
  meta: { resume_cursor: resume },
}));
const feed = maybeSpoiled(page, 2).map((value) => JSON.stringify(value) ?? "");

const line = maybeSpoiled(
  fc.record(
    {
      kind: words.kind,
      subject_id: subjects,
      number: fc.nat().map((seq) => `A-${seq.toString()}`),
      category: words.category,
      severity: words.severity,
      recommended_action: words.action,
      starts_at: words.time,
    },
    { requiredKeys: ["kind", "subject_id"] },
  ),
  3,
);
const lines = fc.array(line, { maxLength: 12 });
const cellOf = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const columns = ["kind", "subject_id", "number", "category", "severity"];
const file = fc.oneof(
  lines.map((all) =>
    [
      columns.join(","),
      ...all.map((one) => columns.map((name) => cellOf((one as Record<string, unknown> | null)?.[name] ?? "")).join(",")),
    ].join("\r\n"),
  ),
  lines.map((all) => JSON.stringify(all)),
  lines.map((all) => JSON.stringify({ records: all })),
  lines.map((all) => all.map((one) => JSON.stringify(one)).join("\n")),
  fc
    .array(fc.oneof({ weight: 4, arbitrary: subjects }, { weight: 1, arbitrary: hostileTextsOf }), { maxLength: 20 })
    .map((names) => names.join("\n")),
);

interface Told {
  kind: "provost" | "file";
  body: Buffer;
  wire: (body: Buffer) => Wire;
}
const told: fc.Arbitrary<Told> = fc.oneof(
  fc.record({ kind: fc.constant("provost" as const), body: bytesOf(spoiledText(feed)), wire: wires }),
  fc.record({ kind: fc.constant("file" as const), body: bytesOf(spoiledText(file)), wire: wires }),
);

/** @returns the bytes, with the ids of people in their places */
function about(bytes: Buffer, members: readonly User[]): Buffer {
  if (!people.some((place) => bytes.includes(place))) return bytes;
  return Buffer.from(
    bytes.toString("latin1").replaceAll(/\{([012])\}/g, (_whole, place: string) => members[Number(place)]?.id ?? ""),
    "latin1",
  );
}

async function createScene(watch: Watch) {
  const follower = await createFollower({ env: { LOG_LEVEL: "warn", ACTION_BREAKER: "1000" }, log: watch.log });
  const { world, admin } = follower;
  const members = [world.member(), world.member(), world.member()];
  const owner = await world.staff("owner");
  const stance = async (rules: object[]): Promise<void> => {
    const answer = await world.put(`/guilds/${world.guild.id}/stance`, { rules }, { actor: owner });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  const judge = async (id: string): Promise<void> => {
    for (const path of [`/lists/${id}`, `/lists/${id}/entries?limit=200`]) {
      const answer = watch.check(await world.get(path, { actor: admin }), path);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    }
  };
  const viewOf = async (id: string) => (await world.get(`/lists/${id}`, { actor: admin })).body.data;
  /** What lists say takes effect, or is said not to; either way the next one has its turn. */
  const act = () => world.app.lists.worker.catchUp(systemCall("job", uuid7()));
  return { follower, world, admin, members, stance, judge, viewOf, act };
}

/** A list of others that is as it should be, and is read meanwhile. */
async function createNeighbour(follower: Follower) {
  const listed = { name: freshId() };
  const teller = await createTeller(() => ({ body: `kind,subject_id\nuser,${listed.name}\n` }));
  const id = await follow(follower, { name: "neighbour", kind: "file", address: teller.url, interval_minutes: 1 });
  return { id, listed };
}

test(
  "whatever a list of others answers, it is read, reported or stopped, and the list beside it is read meanwhile",
  { timeout: 36_000_000 },
  async () => {
    const watch = createWatch();
    const { follower, world, admin, members, stance, judge, viewOf, act } = await createScene(watch);
    const neighbour = await createNeighbour(follower);
    const seen = { read: 0, failed: 0, stopped: 0 };

    const check = fc.asyncProperty(fc.array(told, { minLength: 3, maxLength: 5 }), async (all) => {
      const servers: Awaited<ReturnType<typeof createWire>>[] = [];
      const ids: string[] = [];
      for (const [index, { kind, body, wire }] of all.entries()) {
        const answer = wire(about(body, members));
        const server = await createWire(() => answer);
        servers.push(server);
        ids.push(
          await follow(follower, {
            name: `hostile ${index.toString()}`,
            kind,
            address: server.url,
            ...(kind === "provost" && { key: "prv_test_key" }),
          }),
        );
      }
      await stance(ids.map((list) => ({ list, category: "any", stance: "propose", action: "ban" })));
      neighbour.listed.name = freshId();
      const views = () => Promise.all(ids.map(viewOf));
      const isOver = (view: any): boolean => view.last_read_at !== null || view.failures > 0 || view.state === "stopped";
      await watch.beside(world, admin, async () => {
        await world.app.database.write(systemCall("job", uuid7()), ({ db }) =>
          db.followedList.update({ where: { id: neighbour.id }, data: { nextReadAt: new Date(0) } }),
        );
        await world.app.runJobs();
        await within(async () => neighbour.listed.name in (await saidBy(follower, neighbour.id)), 60_000, views);
        // Those that hang have had no effect on it; their servers end now.
        await within(async () => (await views()).every((view, index) => isOver(view) || (servers[index]?.open() ?? 0) > 0), 60_000, views);
        for (const server of servers) server.release();
        await within(async () => (await views()).every(isOver), 60_000, views);
        await act();
      });
      for (const view of await views()) seen[view.state === "stopped" ? "stopped" : view.failures > 0 ? "failed" : "read"] += 1;
      for (const id of ids) await judge(id);
      await stance([]);
      for (const id of ids) expect((await world.delete(`/lists/${id}`, undefined, { actor: admin })).status).toBe(200);
      for (const server of servers) server.close();
      expect(watch.found()).toEqual([]);
    });
    await fc.assert(check, { numRuns: hostileRuns(40), endOnFailure: true });
    expect(seen.read).toBeGreaterThan(0);
    expect(seen.failed).toBeGreaterThan(0);
    console.info("lists:", seen);

    // What the community's own list says is still done.
    await stance([{ category: "any", stance: "apply", action: "ban" }]);
    const [person] = members as [User];
    expect(
      (await world.post("/blacklist", { kind: "user", subject_id: person.id, category: "scam", severity: "high" }, { actor: admin }))
        .status,
    ).toBe(201);
    await within(async () => {
      await act();
      return isBanned(world.guild, person);
    });
    expect(watch.found()).toEqual([]);
  },
);

test("whatever is sent as the file of a list, it is taken or refused, and its people are acted on", { timeout: 36_000_000 }, async () => {
  const watch = createWatch();
  const { follower, world, admin, members, stance, judge, act } = await createScene(watch);
  const id = await follow(follower, { name: "sent", kind: "file" });
  await stance([{ list: id, category: "any", stance: "propose", action: "ban" }]);
  const sent = fc.oneof(
    lines.map((records) => ({ type: "application/json", bytes: Buffer.from(JSON.stringify({ records })) })),
    maybeSpoiled(fc.record({ records: lines }), 1).map((body) => ({
      type: "application/json",
      bytes: Buffer.from(JSON.stringify(body) ?? ""),
    })),
    bytesOf(spoiledText(file)).map((bytes) => ({ type: "text/csv", bytes })),
    bytesOf(spoiledText(file)).map((bytes) => ({ type: "application/json", bytes })),
  );
  const seen = new Map<number, number>();
  const check = fc.asyncProperty(fc.array(sent, { minLength: 4, maxLength: 4 }), async (all) => {
    await watch.beside(world, admin, async () => {
      for (const { type, bytes } of all) {
        const answer = await fetch(`${world.url}/lists/${id}/file`, {
          method: "PUT",
          headers: { authorization: `Bearer ${world.key}`, "x-acting-user": admin.id, "content-type": type },
          body: new Uint8Array(about(bytes, members)),
        });
        const text = await answer.text();
        watch.check({ status: answer.status, headers: answer.headers, body: text === "" ? "" : JSON.parse(text) }, "PUT file");
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
        await act();
      }
    });
    await judge(id);
    expect(watch.found()).toEqual([]);
  });
  await fc.assert(check, { numRuns: hostileRuns(40), endOnFailure: true });
  console.info("files sent:", Object.fromEntries(seen));
  expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 422]));
});

test("a file as large as one may be, of nothing but what is hard to read, keeps nobody waiting", { timeout: 36_000_000 }, async () => {
  const watch = createWatch();
  const { follower, world, admin, viewOf } = await createScene(watch);
  const heads = oneOf("", "kind,subject_id\n", "[", '{"records":[', "{");
  const check = fc.asyncProperty(heads, largeText(4 * 1024 * 1024 - 20), async (head, text) => {
    const teller = await createTeller(() => ({ body: head + text }));
    const id = await follow(follower, { name: "large", kind: "file", address: teller.url });
    await watch.beside(world, admin, () => world.post(`/lists/${id}/refresh`, undefined, { actor: admin }));
    expect(await viewOf(id)).toMatchObject({ state: expect.stringMatching(/following|stopped/) });
    await world.delete(`/lists/${id}`, undefined, { actor: admin });
    expect(watch.found()).toEqual([]);
  });
  await fc.assert(check, { numRuns: hostileRuns(8), endOnFailure: true });
});
