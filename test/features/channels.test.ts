import { describe, expect, test } from "vitest";
import { shareWorld } from "../contract/world.ts";

const shared = shareWorld();
const [review, alerts, board] = ["41771983423143939", "41771983423143940", "41771983423143941"];
const written = async () => {
  const { read } = shared.world.app.database;
  const where = { action: "channels.update" };
  return {
    settings: await read.setting.count({ where: { key: { startsWith: "channels:" } } }),
    audit: await read.auditEntry.count({ where }),
  };
};

describe("the channels of a guild", () => {
  test("are none at first, and what an owner chooses is told, kept over a restart and in the audit", async () => {
    const { world } = shared;
    const owner = await world.staff("owner");
    const path = `/channels/${world.guild.id}`;
    const none = await world.get("/channels?count=true", { actor: owner });
    expect(none.body.data).toEqual([
      {
        guild_id: world.guild.id,
        review: null,
        alerts: null,
        board: null,
        muted_alerts: [],
        revision: 1,
        updated_by: null,
        updated_at: null,
      },
    ]);
    expect(none.body.page.total).toBe(1);
    expect(world.app.channels.of(world.guild.id)).toEqual({});
    const put = await world.put(path, { review, alerts }, { actor: owner });
    expect(put.body.data).toMatchObject({ review, alerts, board: null, revision: 2, updated_by: owner.id });
    expect(world.app.channels.of(world.guild.id)).toEqual({ review, alerts });
    await world.restart();
    expect(world.app.channels.of(world.guild.id)).toEqual({ review, alerts });
    expect((await world.get("/channels", { actor: owner })).body.data[0]).toMatchObject({ review, revision: 2 });
    const [entry] = (await world.get("/audit?action=channels.update", { actor: owner })).body.data;
    expect(entry).toMatchObject({
      target: { kind: "guild", id: world.guild.id },
      before: { review: null, alerts: null },
      after: { review, alerts },
    });
  });

  test("are all replaced; the same again changes nothing, and an old revision is refused", async () => {
    const { world } = shared;
    const owner = await world.staff("owner");
    const path = `/channels/${world.guild.id}`;
    const first = await world.put(path, { board }, { actor: owner });
    expect(first.body.data).toMatchObject({ review: null, alerts: null, board });
    const before = await written();
    const again = await world.put(path, { board, review: null }, { actor: owner });
    expect(again.body.data.revision).toBe(first.body.data.revision);
    expect(await written()).toEqual(before);
    const stale = await world.put(path, { review }, { actor: owner, headers: { "if-match": '"v1"' } });
    expect([stale.status, stale.body.code]).toEqual([412, "precondition_failed"]);
    expect(world.app.channels.of(world.guild.id)).toEqual({ board });
    expect((await world.put(path, {}, { actor: owner })).body.data).toMatchObject({ board: null });
    expect(world.app.channels.of(world.guild.id)).toEqual({});
  });

  test("are refused for a guild that is not served, for what is no id, and to whoever may not; nothing is written", async () => {
    const { world } = shared;
    const [owner, admin, viewer] = [await world.staff("owner"), await world.staff("admin"), await world.staff("viewer")];
    const before = await written();
    const path = `/channels/${world.guild.id}`;
    const stranger = await world.put("/channels/80351110224678912", { review }, { actor: owner });
    expect([stranger.status, stranger.body.code]).toEqual([404, "record_not_found"]);
    expect(world.app.channels.of("80351110224678912")).toEqual({});
    const wrong = await world.put(path, { review: "here" }, { actor: owner });
    expect(wrong.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(["/review"]);
    expect((await world.put(path, { reviews: review }, { actor: owner })).status).toBe(422);
    const unknown = await world.put(path, { muted_alerts: ["raid"] }, { actor: owner });
    expect(unknown.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(["/muted_alerts/0"]);
    expect((await world.put(path, { review }, { actor: admin })).status).toBe(403);
    expect((await world.get("/channels", { actor: viewer })).status).toBe(403);
    expect((await world.get("/channels", { actor: admin })).status).toBe(200);
    expect(await written()).toEqual(before);
  });
});
