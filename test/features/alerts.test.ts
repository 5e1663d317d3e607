import { describe, expect, test } from "vitest";
import { alertMessage } from "../../src/features/alerts/commands/alert-message.ts";
import { commandTable } from "../../src/features.ts";
import { translator } from "../../src/kit/say.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { alertKinds } from "../../src/kernel/vocabulary.ts";
import type { GuildHandle, Message } from "../../sandbox/index.ts";
import { community, limitMs, within } from "./stances-community.ts";
import { lacking } from "./review-cards-ground.ts";
import { staffAtConsole } from "../contract/world.ts";

type Event = Parameters<Awaited<ReturnType<typeof community>>["world"]["app"]["events"]["emit"]>[1];

/** Three servers of a community: two with an alerts channel, one without. */
async function ground() {
  const given = await community();
  const { world, harbour, bay, owner } = given;
  const channels = new Map([harbour, bay].map((guild) => [guild, guild.createChannel("alerts")]));
  const choose = async (guild: GuildHandle, more: object = {}) => {
    const answer = await world.put(`/channels/${guild.id}`, { alerts: channels.get(guild)?.id, ...more }, { actor: owner });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  await choose(harbour);
  await choose(bay);
  const alertsIn = (guild: GuildHandle): Message[] => guild.messages().filter(({ channelId }) => channelId === channels.get(guild)?.id);
  const titles = (guild: GuildHandle) => alertsIn(guild).map(({ embeds }) => embeds[0]?.title);
  const texts = (guild: GuildHandle) => alertsIn(guild).map(({ embeds }) => embeds[0]?.description ?? "");
  /** Something happens, as the service tells of it in its journal. */
  const happens = (event: Event) =>
    world.app.database.write(systemCall("job", uuid7()), (tx) => {
      world.app.events.emit(tx, event);
      return Promise.resolve();
    });
  const lowPool = (pool: string) => happens({ type: "callsign.low_pool", data: { pool, free: 2, capacity: 20 } });
  return { ...given, channels, choose, alertsIn, titles, texts, happens, lowPool };
}

describe("alerts", () => {
  test("a listed person who joins is told of within two seconds in that server alone, and left alone there by a press", async () => {
    const { world, harbour, bay, list, alertsIn, titles, texts, lowPool } = await ground();
    const admin = await staffAtConsole(world, "admin");
    const user = world.sandbox.createUser("wanted");
    const { number } = await list(user);
    bay.addMember(user);
    expect(await within(() => alertsIn(bay).length > 0)).toBeLessThan(limitMs);
    expect(texts(bay)).toEqual([`<@${user.id}> is in this server and is listed as **${number.replaceAll("-", "\\-")}**.`]);
    bay.addMember(admin);
    const [alert] = alertsIn(bay);
    if (alert === undefined) throw new Error("nothing was told");
    const opened = await world.sandbox.as(admin).in(bay).press(alert, "Open");
    expect(JSON.stringify((await opened.reply()).embeds)).toContain(number);
    const form = await world.sandbox.as(admin).in(bay).press(alert, "Leave alone here");
    await (await form.submitModal({ reason: "Has apologised." })).reply();
    await within(() => texts(bay)[0] === "Nobody needs to look at this any more.");
    expect(alertsIn(bay)[0]?.components).toEqual([]);
    expect(titles(bay)).toEqual(["A listed person is here"]);
    // What everybody is told arrives everywhere: the other server was not told of this person.
    await lowPool("alpha");
    await within(() => alertsIn(harbour).length > 0);
    expect(titles(harbour)).toEqual(["Few callsigns are left"]);
  });

  test("Ban here opens the form of moderation with the ban chosen, and whoever may not is told so", async () => {
    const { world, harbour, list, alertsIn } = await ground();
    const [admin, viewer] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "viewer")];
    const user = world.sandbox.createUser("wanted");
    await list(user);
    harbour.addMember(user);
    await within(() => alertsIn(harbour).length > 0);
    const [alert] = alertsIn(harbour);
    if (alert === undefined) throw new Error("nothing was told");
    const form = await world.sandbox.as(admin).in(harbour).press(alert, "Ban here");
    const answer = await (await form.submitModal({ reason: "Led a raid." })).reply();
    expect(answer.content).toContain("PUN\\-REQ\\-000001");
    const refused = await world.sandbox.as(viewer).in(harbour).press(alert, "Ban here");
    expect((await refused.reply()).content).toContain("permission");
    expect(alertsIn(harbour)).toHaveLength(1);
  });

  test("a muted kind is not told in that server until it is told again, and what happened meanwhile is not made up for", async () => {
    const { world, harbour, bay, alertsIn, texts, lowPool, owner, happens } = await ground();
    for (const role of Object.values(world.roles)) harbour.setRolePermissions(role, ["Administrator"]);
    const said = await world.slash(owner, "setup alerts mute", { kind: "callsign_pool_low" });
    expect(said).toContain("pools with few callsigns – **muted**");
    await lowPool("alpha");
    await within(() => alertsIn(bay).length === 1);
    await happens({ type: "roster.drift", data: { held_back: 9, live: 12, since: new Date().toISOString() } });
    await within(() => alertsIn(harbour).length > 0);
    expect(texts(harbour)).toEqual([expect.stringContaining("9 of 12 people")]);
    expect(await world.slash(owner, "setup alerts unmute", { kind: "callsign_pool_low" })).not.toContain("muted");
    await lowPool("bravo");
    await within(() => alertsIn(harbour).length === 2);
    expect(texts(harbour)[1]).toContain("**bravo**");
    const { data } = (await world.get("/audit?action=channels.update", { actor: owner })).body;
    expect(data[0]).toMatchObject({ before: { muted_alerts: ["callsign_pool_low"] }, after: { muted_alerts: [] } });
  });

  test("an appeal is told of until it is decided; one that few may know of is told nobody", async () => {
    const { harbour, alertsIn, texts, happens, titles } = await ground();
    const appeal = { request_id: uuid7(), reference: "APP-REQ-000007", type: "appeal", status: "pending" };
    await happens({
      type: "appeal.filed",
      data: { ...appeal, request_id: uuid7(), reference: "APP-REQ-000006" },
      permission: "workflows.read_confidential",
    });
    await happens({ type: "appeal.filed", data: appeal });
    await within(() => alertsIn(harbour).length > 0);
    expect(texts(harbour)).toEqual([expect.stringContaining("APP\\-REQ\\-000007")]);
    await happens({ type: "workflow.decided", data: { ...appeal, status: "approved" } });
    await within(() => alertsIn(harbour)[0]?.components?.length === 0);
    // The same again, such as of an appeal that was opened again, is told anew.
    await happens({ type: "appeal.filed", data: appeal });
    await within(() => alertsIn(harbour).length === 2);
    expect(titles(harbour)).toEqual(["An appeal was filed", "An appeal was filed"]);
  });

  test("what happens while nothing can be posted is told once when it can, through restarts, and holds up no other server", async () => {
    const { world, harbour, bay, channels, alertsIn, lowPool } = await ground();
    const route = `POST /channels/${channels.get(harbour)?.id ?? ""}/messages`;
    const refusing = world.sandbox.faults.rest({ route, status: 403, body: lacking, times: Infinity });
    await lowPool("alpha");
    await within(() => alertsIn(bay).length === 1);
    expect(alertsIn(harbour)).toEqual([]);
    refusing.clear();
    await world.restart();
    await within(() => alertsIn(harbour).length === 1);
    await lowPool("bravo");
    await within(() => alertsIn(harbour).length === 2 && alertsIn(bay).length === 2);
  });

  test("a channel that is chosen later begins with what happens from then on", async () => {
    const { world, cove, channels, choose, alertsIn, texts, lowPool, bay } = await ground();
    await lowPool("alpha");
    await within(() => alertsIn(bay).length === 1);
    channels.set(cove, cove.createChannel("alerts"));
    await choose(cove);
    await lowPool("bravo");
    await within(() => alertsIn(cove).length > 0);
    expect(texts(cove)).toEqual([expect.stringContaining("**bravo**")]);
    expect(world.app.database).toBeDefined();
  });
});

test("every kind says something in both languages, and leaves no gap", () => {
  const data = {
    user_id: "80351110224678912",
    number: "BL-000001",
    acted: 20,
    reference: "PUN-REQ-000001",
    reminder: "decision",
    due_at: "2026-11-20T10:00:00.000Z",
    review_at: "2026-11-20T10:00:00.000Z",
    action: "ban",
    error: "Discord knows no account with this id.",
    pool: "alpha",
    free: 2,
    capacity: 20,
    held_back: 9,
    live: 12,
    name: "review client",
    reason: "failing",
    webhook_id: "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  };
  const { pressOf } = commandTable();
  for (const language of ["en", "de"]) {
    for (const kind of alertKinds) {
      const { embeds, components } = alertMessage({ kind, isOver: false, data, at: new Date(0) }, { t: translator(language), pressOf });
      expect(embeds[0]?.description).not.toMatch(/[{}]/);
      expect(components[0]?.components.length).toBeGreaterThan(0);
    }
  }
});
