// @module-tag slow
import { once } from "node:events";
import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";
import BetterSqlite3 from "better-sqlite3";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { until } from "../discord/support.ts";
import { createEmptyCopy } from "../support/database.ts";
import { commandData, rawDoor } from "../support/raw-door.ts";
import { createWorld, type World } from "../support/world.ts";

/** A database behind a door that can be shut, as when its server is restarted. */
async function createDoor(url: string) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  const open = async (): Promise<void> => {
    server = createServer((socket) => {
      const behind = connect(Number(target.port), target.hostname);
      for (const one of [socket, behind]) {
        sockets.add(one);
        one.on("error", () => undefined).on("close", () => sockets.delete(one));
      }
      socket.pipe(behind).pipe(socket);
    }).listen(port, "127.0.0.1");
    await once(server, "listening");
    ({ port } = server.address() as AddressInfo);
  };
  const shut = (): void => {
    server?.close();
    for (const socket of sockets) socket.destroy();
  };
  await open();
  onTestFinished(shut);
  const door = new URL(url);
  door.port = port.toString();
  return { url: door.href, open, shut };
}

/** Reads and writes by HTTP and in Discord, and what is said to each. */
async function askAll(world: World, actor: Awaited<ReturnType<World["staff"]>>) {
  const paths = [
    "/blacklist",
    "/cases",
    "/workflows",
    "/events",
    "/audit",
    "/roster",
    `/staff/${actor.id}/profile`,
    "/callsigns/pools",
    "/servers",
  ];
  const reads = await Promise.all(paths.map((path) => world.get(path, { actor })));
  const pool = { key: "north", name: "North", template: "{n:03}", ranges: [[1, 9]] };
  const write = await world.post("/callsigns/pools", pool, { actor });
  const open = rawDoor(world.sandbox, world.guild.id);
  const run = open(actor, { type: 2, data: commandData({ command: "callsign", path: "pools" }, []) });
  const said = (await run.reply()).content;
  return { answers: [...reads, write].map(({ status, body, headers }) => [status, body.code, headers.get("retry-after")]), said };
}

test.runIf(inject("dialect") === "postgres")("while PostgreSQL is away everything says so, and works again when it is back", async () => {
  const { url, remove } = await createEmptyCopy();
  onTestFinished(remove);
  const door = await createDoor(url);
  const world = await createWorld({ env: { DATABASE_URL: door.url } });
  const actor = await world.staff("owner");
  expect((await askAll(world, actor)).answers.map(([status]) => status)).not.toContain(500);
  door.shut();
  for (let round = 0; round < 3; round += 1) {
    const { answers, said } = await askAll(world, actor);
    expect(answers).toEqual(answers.map(() => [503, "storage_busy", "1"]));
    expect(said).toMatch(/storage_busy/);
    expect((await world.get("/health", { key: null })).status).toBe(503);
  }
  await door.open();
  await until(async () => (await world.get("/blacklist", { actor })).status === 200);
  expect(
    (await world.post("/callsigns/pools", { key: "south", name: "South", template: "{n:03}", ranges: [[1, 9]] }, { actor })).status,
  ).toBe(201);
});

test.runIf(inject("dialect") === "sqlite")("while the disk cannot be read everything says so, and works again afterwards", async () => {
  const world = await createWorld();
  const actor = await world.staff("owner");
  const failing = Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_READ" });
  const prototype = Object.getPrototypeOf(new BetterSqlite3(":memory:").prepare("SELECT 1")) as BetterSqlite3.Statement;
  const spy = vi.spyOn(prototype, "all").mockImplementation(() => {
    throw failing;
  });
  onTestFinished(() => spy.mockRestore());
  const { answers, said } = await askAll(world, actor);
  expect(answers).toEqual(answers.map(() => [503, "storage_readonly", "1"]));
  expect(said).toMatch(/storage_readonly/);
  spy.mockRestore();
  expect((await askAll(world, actor)).answers.map(([status]) => status)).not.toContain(503);
});
