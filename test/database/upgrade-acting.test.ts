// @module-tag both
import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import {
  createOldDiscord,
  placeBusyInstallation,
  readBusyInstallation,
  startOn,
  type BusyInstallation,
  type Upgraded,
} from "./old-installation.ts";

const minute = 60_000;

describe("the service, started on what an earlier version left in the middle of acting", () => {
  let old: BusyInstallation;
  let sandbox: Sandbox;
  let service: Upgraded;
  /** The time of the service and of Discord: five seconds after it was left, and later on later. */
  const time = { offset: 0 };
  const now = () => Date.now() + time.offset;
  /** What the bot changed so far, as `PUT bans halfBanned`. */
  let before: string[] = [];

  beforeAll(async () => {
    old = await readBusyInstallation();
    time.offset = Date.parse(old.made_at) + 5000 - Date.now();
    const ends: (() => Promise<void>)[] = [];
    const place = await placeBusyInstallation(old, (end) => ends.push(end));
    sandbox = await createOldDiscord(old, now);
    service = await startOn(old, place, sandbox, now);
    await settle();
    before = changes();
    return async () => {
      await service.stop();
      await sandbox.stop();
      for (const end of ends) await end();
    };
  });

  const call = () => systemCall("job", uuid7());
  async function settle(): Promise<void> {
    for (let round = 0; round < 3; round += 1) {
      await sandbox.caughtUp();
      await service.app.deliveries.deliverDue(call());
      await service.app.lists.worker.catchUp(call());
    }
  }

  const named = (id = ""): string | undefined => Object.entries(old.people).find(([, one]) => one === id)?.[0];
  /** What was asked of Discord about people of the guild, in order. */
  function asked(): { name: string; method: string; what: string }[] {
    return sandbox.exchanges.flatMap(({ method, path }) => {
      const [, what = "", id] = /^\/guilds\/\d+\/(bans|members)\/(\d+)$/.exec(path) ?? [];
      const name = named(id);
      return name === undefined ? [] : [{ name, method, what }];
    });
  }
  const changes = (): string[] => asked().flatMap(({ name, method, what }) => (method === "GET" ? [] : [`${method} ${what} ${name}`]));
  const effectOf = async (request: string, key = "discord.punish") => {
    const [kept] = await service.app.database.read.workflowEffect.findMany({
      where: { key, request: { reference: old.requests[request] ?? "" } },
      orderBy: { place: "asc" },
    });
    return kept;
  };
  const actionOf = async (name: string) =>
    (await service.app.database.read.listAction.findMany({ where: { userId: old.people[name] ?? "" } }))[0];
  const guild = () => sandbox.inside.world.guilds.get(old.discord.guild.id);
  const isBanned = (name: string): boolean => guild()?.bans.has(old.people[name] ?? "") === true;
  const timeoutOf = (name: string): number => guild()?.members.get(old.people[name] ?? "")?.timeoutUntil ?? 0;

  test("leaves alone what another process may still be at", async () => {
    expect(before).toEqual([]);
    expect(await effectOf("halfBanned.ban")).toMatchObject({ status: "pending", attempts: 1, undo: { mayBeDone: true } });
    expect(await actionOf("listHalfBanned")).toMatchObject({ state: "pending", attempts: 1, mayBeDone: true });
  });

  test("ends all of it once it is due, each thing once, and nothing that was done already", async () => {
    // The first of two for one person fails at first: the second one waits for it.
    const fault = sandbox.faults.rest({
      route: `PATCH /guilds/${old.discord.guild.id}/members/${old.people["inOrder"] ?? ""}`,
      status: 500,
    });
    time.offset += 5 * minute;
    await settle();
    expect([fault.hits, (await effectOf("inOrder.untimeout"))?.status]).toEqual([1, "pending"]);
    time.offset += minute;
    await settle();
    const made = changes();
    expect(made.toSorted()).toEqual(
      [
        "PUT bans begunBan",
        "PUT bans failing",
        "PUT bans listBegun",
        "PATCH members inOrder",
        "PATCH members inOrder",
        "PATCH members inOrder",
        "DELETE bans inOrderBan",
        "DELETE bans calledOff",
        "DELETE bans listRevoked",
      ].toSorted(),
    );
    const everybody = Object.keys(old.people);
    expect(everybody.filter(isBanned).toSorted()).toEqual(["begunBan", "dated", "failing", "halfBanned", "listBegun", "listHalfBanned"]);
    expect(everybody.filter((name) => timeoutOf(name) > now()).toSorted()).toEqual(["halfTimedOut", "listHalfTimedOut"]);
    for (const request of ["halfBanned.ban", "begunBan.ban", "failing.ban", "halfTimedOut.timeout", "inOrder.timeout", "inOrderBan.ban"])
      expect([request, await effectOf(request)]).toMatchObject([request, { status: "done", dueAt: null, undo: { changed: true } }]);
    for (const name of ["listHalfBanned", "listBegun", "listHalfTimedOut"])
      expect([name, await actionOf(name)]).toMatchObject([name, { state: "done", changed: true, dueAt: null }]);
    for (const name of ["listRevoked", "listUndoing"])
      expect([name, await actionOf(name)]).toMatchObject([name, { state: "undone", standingKey: null, dueAt: null }]);
  });

  test("looks in Discord at what was half done before it changes anything", () => {
    for (const name of [
      "halfBanned",
      "begunBan",
      "halfTimedOut",
      "failing",
      "inOrder",
      "inOrderBan",
      "listHalfBanned",
      "listBegun",
      "listUndoing",
      "listHalfTimedOut",
    ])
      expect([name, asked().find((one) => one.name === name)?.method]).toEqual([name, "GET"]);
  });

  test("keeps the order of what is done to one person", async () => {
    expect(await effectOf("inOrder.untimeout")).toMatchObject({ status: "done", undo: { changed: true } });
    expect(await effectOf("inOrderBan.unban")).toMatchObject({ status: "done", undo: { changed: true } });
    expect(timeoutOf("inOrder")).toBeLessThanOrEqual(now());
    expect(isBanned("inOrderBan")).toBe(false);
  });

  test("takes back what was called off in the middle, as far as it was done", async () => {
    expect(await effectOf("calledOff.ban", "discord.punish.undo")).toMatchObject({ status: "done" });
    for (const request of ["calledOff.ban", "calledOffBegun.ban"])
      expect([request, await effectOf(request)]).toMatchObject([request, { dueAt: null }]);
    expect([isBanned("calledOff"), isBanned("calledOffBegun")]).toEqual([false, false]);
  });

  test("sends a message whose end nobody noted again under its own name, once", async () => {
    expect(await effectOf("warned.warning", "notice.subject")).toMatchObject({ status: "done" });
    expect(sandbox.directMessages({ id: old.people["warned"] ?? "" })).toHaveLength(1);
  });

  test("does nothing about what had failed, and about what waits for a person", async () => {
    expect(await effectOf("refused.ban")).toMatchObject({ status: "failed", dueAt: null });
    expect(await actionOf("listRefused")).toMatchObject({ state: "failed" });
    expect(await actionOf("listHeld")).toMatchObject({ state: "held", attempts: 0 });
    expect(changes().filter((change) => /efused|Held/.test(change))).toEqual([]);
    const { body } = await service.request("POST", `/workflows/punishment/${old.requests["refused.ban"] ?? ""}/effects/3/retry`);
    expect(body.success, JSON.stringify(body)).toBe(true);
    await settle();
    expect([isBanned("refused"), (await effectOf("refused.ban"))?.status]).toEqual([true, "done"]);
  });

  test("ends what had an end when that comes, and nothing is left", async () => {
    expect(isBanned("dated")).toBe(true);
    time.offset += 24 * 60 * minute;
    await settle();
    expect(isBanned("dated")).toBe(false);
    expect(changes().filter((change) => change.endsWith(" dated"))).toEqual(["DELETE bans dated"]);
    expect(await service.app.database.read.workflowEffect.findMany({ where: { dueAt: { not: null } } })).toEqual([]);
    expect(await service.app.database.read.listAction.findMany({ where: { dueAt: { not: null } } })).toEqual([]);
    expect((await service.request("GET", "/audit/verify")).body.data.ok).toBe(true);
  });
});
