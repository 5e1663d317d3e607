import { describe, expect, test } from "vitest";
import { isPublicAddress } from "../../src/kernel/addresses.ts";
import { createFollower, createTeller, follow, refresh, saidBy } from "./follows-ground.ts";
import { freshId } from "./workflows-ground.ts";

interface Told {
  seq: number;
  id: string;
  revision: number;
  change?: string;
}

const people = new Map<string, string>();
const personOf = (id: string): string => {
  const known = people.get(id) ?? freshId();
  people.set(id, known);
  return known;
};

/** An entry of a feed as another Provost tells it. */
function entryOf({ seq, id, revision, change = revision === 1 ? "created" : "updated" }: Told) {
  const retract = ["revoked", "expired", "purged"].includes(change);
  const at = "2026-01-01T00:00:00.000Z";
  const about = { kind: "user", subject_id: personOf(id), category: "raid", severity: "high", recommended_action: null };
  const record = { id, revision, ...about, status: retract ? "revoked" : "active", starts_at: at, expires_at: null };
  return { seq, at, change, retract, record_id: id, number: `BL-${id}`, revision, record: change === "purged" ? null : record };
}

/** A server that tells what the test wants; its cursors are the numbers after which it goes on. */
async function createFeed(first: readonly Told[], size = 100) {
  const feed = { told: first, status: 200, body: undefined as string | undefined };
  const teller = await createTeller((asked) => {
    const after = Number(new URL(asked.url ?? "", "http://x").searchParams.get("cursor") ?? 0);
    const left = feed.told.filter(({ seq }) => seq > after);
    const data = left.slice(0, size).map(entryOf);
    const resume_cursor = (data.at(-1)?.seq ?? after).toString();
    const body =
      feed.body ?? JSON.stringify({ data, page: { next_cursor: left.length > size ? resume_cursor : null }, meta: { resume_cursor } });
    return { status: feed.status, body };
  });
  return Object.assign(feed, { teller });
}

const honest: readonly Told[] = [
  { seq: 1, id: "a", revision: 1 },
  { seq: 2, id: "b", revision: 1 },
  { seq: 3, id: "a", revision: 2 },
];

describe("a feed that cannot be true", () => {
  const lies: readonly (readonly [what: string, told: readonly Told[], problem: string])[] = [
    ["is rewound", honest.slice(0, 2), "The list tells otherwise what it told before."],
    ["is empty all at once", [], "The list tells otherwise what it told before."],
    ["is rewritten", [...honest.slice(0, 2), { seq: 3, id: "c", revision: 1 }], "The list tells otherwise what it told before."],
    ["leaves an entry out", [...honest, { seq: 5, id: "c", revision: 1 }], "The list leaves entries out."],
    ["leaves a change of a record out", [...honest, { seq: 4, id: "a", revision: 4 }], "The list leaves entries out."],
    ["is reordered", [...honest, { seq: 5, id: "c", revision: 1 }, { seq: 4, id: "d", revision: 1 }], "The list is out of order."],
    ["tells an entry twice", [...honest, { seq: 4, id: "c", revision: 1 }, { seq: 4, id: "c", revision: 1 }], "The list is out of order."],
    ["purges less than is missing", [...honest, { seq: 6, id: "c", revision: 2, change: "purged" }], "The list leaves entries out."],
    ["purges more than is missing", [...honest, { seq: 4, id: "c", revision: 9, change: "purged" }], "The list leaves entries out."],
    [
      "purges what came later",
      [...honest, { seq: 4, id: "a", revision: 2, change: "purged" }],
      "The list tells otherwise what it told before.",
    ],
  ];

  test("stops the list with the reason, changes nothing, and is read again only after somebody has reset it", async () => {
    const follower = await createFollower();
    const { world, admin } = follower;
    for (const [what, told, problem] of lies) {
      const feed = await createFeed(honest);
      const id = await follow(follower, { name: what, address: feed.teller.url, key: "prv_test_key" });
      expect(await refresh(follower, id), what).toMatchObject({ state: "following", problem: null });
      const before = await saidBy(follower, id);
      expect(Object.keys(before)).toHaveLength(2);
      feed.told = told;
      expect(await refresh(follower, id), what).toMatchObject({ state: "stopped", problem, next_read_at: null });
      expect(await saidBy(follower, id), what).toEqual(before);
      const asked = feed.teller.asked.length;
      expect((await world.post(`/lists/${id}/refresh`, undefined, { actor: admin })).body.code).toBe("invalid_transition");
      expect(feed.teller.asked).toHaveLength(asked);
      feed.told = honest;
      expect((await world.post(`/lists/${id}/reset`, undefined, { actor: admin })).body.data).toMatchObject({
        state: "following",
        problem: null,
      });
      expect(await saidBy(follower, id)).toEqual({});
      expect(await refresh(follower, id)).toMatchObject({ state: "following", problem: null });
      expect(await saidBy(follower, id)).toEqual(before);
    }
    const stops = await world.app.database.read.auditEntry.count({ where: { action: "followed_list.stop" } });
    expect(stops).toBe(lies.length);
  });

  test("is told from one that was purged in between, and from one that fails: that is tried again, later each time", async () => {
    const follower = await createFollower();
    const feed = await createFeed(honest, 2);
    const id = await follow(follower, { name: "Harbour Watch", address: feed.teller.url, key: "prv_test_key", interval_minutes: 10 });
    await refresh(follower, id);
    // Both entries of a are gone, and a third that nobody had read.
    feed.told = [
      { seq: 2, id: "b", revision: 1 },
      { seq: 5, id: "a", revision: 4, change: "purged" },
    ];
    expect(await refresh(follower, id)).toMatchObject({ state: "following", problem: null });
    expect(Object.keys(await saidBy(follower, id))).toEqual([personOf("b")]);
    const waits: number[] = [];
    for (const [status, body] of [
      [500, "{}"],
      [200, "<html>"],
      [302, ""],
    ] as const) {
      Object.assign(feed, { status, body });
      const view = await refresh(follower, id);
      expect(view).toMatchObject({ state: "following", problem: expect.any(String), failures: waits.length + 1 });
      waits.push(Math.round((Date.parse(view.next_read_at) - Date.now()) / 60_000));
    }
    expect(waits).toEqual([20, 40, 80]);
    Object.assign(feed, { status: 400, body: '{"code":"invalid_cursor"}' });
    expect(await refresh(follower, id)).toMatchObject({ state: "stopped", problem: expect.stringContaining("does not know how far") });
    expect(Object.keys(await saidBy(follower, id))).toEqual([personOf("b")]);
  });
});

describe("an address inside the network of the service", () => {
  test("is asked nothing unless the operator allows it, however it is written", async () => {
    const follower = await createFollower({ env: { LISTS_FROM: "" } });
    const teller = await createTeller(() => ({ body: "{}" }));
    const port = new URL(teller.url).port;
    const addresses = [
      `http://127.0.0.1:${port}`,
      `http://localhost:${port}`,
      `http://[::ffff:7f00:1]:${port}`,
      `http://2130706433:${port}`,
    ];
    for (const address of [...addresses, "https://169.254.169.254", "https://10.0.0.1"]) {
      const id = await follow(follower, { name: address, address, key: "prv_test_key" });
      expect((await refresh(follower, id)).problem, address).toMatch(/private network/);
    }
    expect(teller.asked).toEqual([]);
  });

  test("is every address that is not of the internet", () => {
    const inside = [
      "0.0.0.0",
      "10.1.2.3",
      "100.64.0.1",
      "127.0.0.1",
      "169.254.169.254",
      "172.31.0.1",
      "192.168.1.1",
      "224.0.0.1",
      "255.255.255.255",
    ];
    for (const address of [
      ...inside,
      "::",
      "::1",
      "::ffff:10.0.0.1",
      "::ffff:a00:1",
      "fc00::1",
      "fe80::1",
      "ff02::1",
      "64:ff9b::a00:1",
      "2002:a00:1::",
      "2001:db8::1",
    ])
      expect([address, isPublicAddress(address)]).toEqual([address, false]);
    for (const address of ["1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
  });

  test("is not reached by a redirect, and an answer that is too long is left", async () => {
    const follower = await createFollower();
    const inner = await createTeller(() => ({ body: "[]" }));
    const outer = await createTeller(() => ({ status: 302, body: "", headers: { location: inner.url } }));
    const id = await follow(follower, { name: "moved", kind: "file", address: outer.url });
    expect((await refresh(follower, id)).problem).toContain("302");
    expect(inner.asked).toEqual([]);
    const long = await createTeller(() => ({ body: "x".repeat(5 * 1024 * 1024) }));
    const second = await follow(follower, { name: "long", kind: "file", address: long.url });
    expect((await refresh(follower, second)).problem).toBe("The answer is too long.");
  });
});

describe("a file", () => {
  const csv = (ids: readonly string[]): string =>
    ["kind,subject_id,category,severity", ...ids.map((id) => `user,${id},raid,high`)].join("\n");

  test("is compared whole: what is added is listed, what has left is taken back, and a page of something else changes nothing", async () => {
    const follower = await createFollower();
    const [one, two, three] = [freshId(), freshId(), freshId()];
    const file = { body: csv([one, two]) };
    const teller = await createTeller(() => file);
    const id = await follow(follower, { name: "file", kind: "file", address: teller.url });
    await refresh(follower, id);
    expect(Object.keys(await saidBy(follower, id)).toSorted()).toEqual([one, two].toSorted());
    file.body = csv([two, three]);
    await refresh(follower, id);
    expect(Object.keys(await saidBy(follower, id)).toSorted()).toEqual([two, three].toSorted());
    const whole: readonly (readonly [body: string, problem: RegExp])[] = [
      ["<!doctype html>\n<title>Gone</title>\n<p>See example.com", /^Most lines of the file cannot be read/],
      [csv(["not an id", "1.23E+17", three]), /^Most lines .* Line 2: Send ids as strings of 17–20 digits\.$/],
      ["  \n", /^The file is empty\.$/],
      [JSON.stringify([{ kind: "user", subject_id: three }]).slice(0, -1), /^The file is cut off\.$/],
      ["a,b,c,kind\n1,2,3,user", /^The columns of the file are not those of an export\.$/],
    ];
    for (const [body, problem] of whole) {
      file.body = body;
      expect((await refresh(follower, id)).problem, body).toMatch(problem);
      expect(Object.keys(await saidBy(follower, id)).toSorted(), body).toEqual([two, three].toSorted());
    }
    file.body = JSON.stringify({ records: [{ kind: "user", subject_id: three, category: "scam" }] });
    expect((await refresh(follower, id)).problem).toBeNull();
    expect(await saidBy(follower, id)).toEqual({ [three]: "scam medium" });
    expect(teller.asked.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  test("can be sent instead, as JSON or as CSV, and is refused at the field where most of it cannot be read", async () => {
    const follower = await createFollower();
    const { world, admin } = follower;
    const [one, two] = [freshId(), freshId()];
    const id = await follow(follower, { name: "sent", kind: "file" });
    const send = (body: unknown, headers = {}) => world.put(`/lists/${id}/file`, body, { actor: admin, headers });
    expect((await send({ records: [{ kind: "user", subject_id: one }] })).status).toBe(200);
    expect(await saidBy(follower, id)).toEqual({ [one]: "other medium" });
    expect((await send(csv([one, two]), { "content-type": "text/csv" })).status).toBe(200);
    expect(await saidBy(follower, id)).toEqual({ [one]: "raid high", [two]: "raid high" });
    const refused = await send({
      records: [
        { kind: "user", subject_id: one },
        { kind: "dragon", subject_id: two },
        { kind: "domain", subject_id: "bit.ly/3aB4cD5" },
      ],
    });
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, "/records"]);
    expect(Object.keys(await saidBy(follower, id))).toHaveLength(2);
    expect((await world.post(`/lists/${id}/refresh`, undefined, { actor: admin })).body.code).toBe("invalid_transition");
  });
});
