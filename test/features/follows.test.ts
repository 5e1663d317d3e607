import { describe, expect, test } from "vitest";
import { createFollower, createOrigin, createTeller, follow, list, purge, refresh, revoke, saidBy } from "./follows-ground.ts";
import { freshId } from "./workflows-ground.ts";

describe("a community that follows another one", () => {
  test("hears of what is listed, changed, taken back and purged there, through restarts of either", async () => {
    const origin = await createOrigin();
    const follower = await createFollower();
    const { read } = follower.world.app.database;
    const [one, two, three] = [freshId(), freshId(), freshId()];
    const first = await list(origin, one, { reason_internal: "whispered" });
    const second = await list(origin, two, { category: "scam", severity: "low" });
    const id = await follow(follower, { name: "Harbour Watch", address: origin.world.url, key: origin.key });
    expect(await saidBy(follower, id)).toEqual({});
    expect(await refresh(follower, id)).toMatchObject({ state: "following", problem: null, failures: 0 });
    expect(await saidBy(follower, id)).toEqual({ [one]: "raid high", [two]: "scam low" });
    expect(JSON.stringify(await read.followedEntry.findMany())).not.toContain("whispered");

    await follower.world.restart();
    await origin.world.patch(`/blacklist/${first.id}`, { severity: "critical" }, { actor: origin.owner });
    await revoke(origin, second.id);
    await origin.world.restart();
    await refresh(follower, id);
    expect(await saidBy(follower, id)).toEqual({ [one]: "raid critical" });

    await purge(origin, second.id);
    // Made and purged between two readings: its numbers are missing, and the purge accounts for them.
    const gone = await list(origin, freshId());
    await revoke(origin, gone.id);
    await purge(origin, gone.id);
    await list(origin, three);
    expect(await refresh(follower, id)).toMatchObject({ state: "following", problem: null });
    expect(await saidBy(follower, id)).toEqual({ [one]: "raid critical", [three]: "raid high" });
    const kept = JSON.stringify(await follower.world.app.database.read.followedEntry.findMany());
    for (const forgotten of [two, second.id, gone.id]) expect(kept).not.toContain(forgotten);
    expect(await follower.world.app.database.read.blacklistRecord.count()).toBe(0);
  });

  test("takes only the categories it wants, and reads again from the beginning when it wants others", async () => {
    const [origin, follower] = [await createOrigin(), await createFollower()];
    const [raider, scammer] = [freshId(), freshId()];
    await list(origin, raider);
    await list(origin, scammer, { category: "scam" });
    const id = await follow(follower, { name: "Harbour Watch", address: origin.world.url, key: origin.key, categories: ["scam"] });
    await refresh(follower, id);
    expect(await saidBy(follower, id)).toEqual({ [scammer]: "scam high" });
    expect(JSON.stringify(await follower.world.app.database.read.followedEntry.findMany())).not.toContain(raider);
    await follower.world.patch(`/lists/${id}`, { categories: [] }, { actor: follower.admin });
    await refresh(follower, id);
    expect(Object.keys(await saidBy(follower, id)).toSorted()).toEqual([raider, scammer].toSorted());
  });

  test("says of somebody by how many lists they are listed, to those who may see lists, until it follows the list no more", async () => {
    const [origin, follower] = [await createOrigin(), await createFollower()];
    const { world, admin } = follower;
    const [listed, free] = [freshId(), freshId()];
    const { number } = await list(origin, listed);
    const check = async (actor = admin) => (await world.post("/blacklist/check", { user_ids: [listed, free] }, { actor })).body.data;
    expect(await check()).not.toHaveProperty("followed_lists");
    const id = await follow(follower, { name: "Harbour Watch", address: origin.world.url, key: origin.key, trust: "high" });
    await follow(follower, { name: "Nobody yet", kind: "file" });
    await refresh(follower, id);
    const answer = await check();
    expect(answer.followed_lists).toBe(2);
    const entry = { list_id: id, list: "Harbour Watch", trust: 90, number, category: "raid", severity: "high" };
    expect(answer.users.map((user: any) => [user.listed, user.records, user.listed_by])).toEqual([
      [false, [], [entry]],
      [false, [], []],
    ]);
    const viewer = await world.staff("viewer");
    expect(JSON.stringify(await check(viewer))).not.toMatch(/listed_by|followed_lists|Harbour/);
    expect((await world.get("/lists", { actor: viewer })).body.code).toBe("permission_denied");
    const moderator = await world.staff("moderator");
    expect((await world.get("/lists", { actor: moderator })).body.data).toHaveLength(2);
    for (const [method, path] of [
      ["DELETE", ""],
      ["POST", "/refresh"],
      ["POST", "/reset"],
    ] as const)
      expect((await world.request(method, `/lists/${id}${path}`, undefined, { actor: moderator })).body.code).toBe("permission_denied");
    expect((await world.delete(`/lists/${id}`, undefined, { actor: admin })).status).toBe(200);
    expect((await check()).users[0].listed_by).toEqual([]);
    expect(await world.app.database.read.followedEntry.count()).toBe(0);
  });

  test("makes a record of its own of an entry only when somebody adopts it who may, and keeps that whatever the list does", async () => {
    const [origin, follower] = [await createOrigin(), await createFollower()];
    const { world, admin } = follower;
    const person = freshId();
    const { id: recordId, number } = await list(origin, person, { category: "scam", severity: "critical", duration: "30d" });
    const id = await follow(follower, { name: "Harbour Watch", address: origin.world.url, key: origin.key });
    await refresh(follower, id);
    const path = `/lists/${id}/entries/${number}/adopt`;
    expect((await world.post(path, {}, { actor: await world.staff("senior") })).body.code).toBe("permission_denied");
    expect((await world.post(`/lists/${id}/entries/BL-000999/adopt`, {}, { actor: admin })).body.code).toBe("record_not_found");
    const adopted = await world.post(path, { reason_public: "Seen there, too." }, { actor: admin });
    expect([adopted.status, adopted.body.data.origin_reference]).toEqual([201, `${id}/${number}`]);
    const record = (await world.get(`/blacklist/${adopted.body.data.id}`, { actor: admin })).body.data;
    expect(record).toMatchObject({
      subject_id: person,
      category: "scam",
      severity: "critical",
      status: "active",
      reason_public: "Seen there, too.",
      origin_reference: `${id}/${number}`,
      created_by: admin.id,
    });
    expect(record.expires_at).not.toBeNull();
    expect((await world.post(path, {}, { actor: admin })).body.code).toBe("duplicate_active_record");
    await revoke(origin, recordId);
    await refresh(follower, id);
    expect(await saidBy(follower, id)).toEqual({});
    expect((await world.get(`/blacklist/${record.id}`, { actor: admin })).body.data.status).toBe("active");
    expect((await world.post(path, {}, { actor: admin })).body.code).toBe("record_not_found");
  });
});

describe("the key of a list", () => {
  test("is stored sealed, goes to the address alone, and is in no answer, no log, no audit and no other address", async () => {
    const lines: string[] = [];
    const follower = await createFollower({ log: (line) => void lines.push(line) });
    const { world, admin } = follower;
    const key = "prv_test_ThisIsTheKeyOfTheOtherOne";
    const teller = await createTeller(() => ({ status: 401, body: "{}" }));
    const answers: unknown[] = [];
    const keep = <Answer extends { body: unknown }>(answer: Answer): Answer => {
      answers.push(answer.body);
      return answer;
    };
    const made = keep(await world.post("/lists", { name: "Harbour Watch", address: teller.url, key }, { actor: admin }));
    const { id } = made.body.data;
    expect(made.body.data.has_key).toBe(true);
    expect(keep(await world.post(`/lists/${id}/refresh`, undefined, { actor: admin })).body.data).toMatchObject({
      problem: "The list refuses the key.",
      failures: 1,
      state: "following",
    });
    expect(teller.asked).toEqual([{ path: "/blacklist/changes?limit=100", authorization: `Bearer ${key}` }]);
    const elsewhere = await createTeller(() => ({ body: "{}" }));
    const moved = keep(await world.patch(`/lists/${id}`, { address: elsewhere.url }, { actor: admin }));
    expect(moved.body.errors.map(({ pointer, code }: any) => [pointer, code])).toEqual([["/key", "required"]]);
    expect(elsewhere.asked).toEqual([]);
    for (const path of ["/lists", `/lists/${id}`, "/audit"])
      keep(await world.get(path, { actor: path === "/audit" ? await world.staff("owner") : admin }));
    const { read } = world.app.database;
    const stored = [await read.followedList.findMany(), await read.auditPayload.findMany()];
    for (const text of [JSON.stringify(answers), lines.join("\n"), JSON.stringify(stored)]) expect(text).not.toContain("ThisIsTheKey");
    expect(stored[0]?.[0]).toMatchObject({ key: expect.stringMatching(/^v1\./) });
  });
});
