// @module-tag postgres
// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";
import { createProxy } from "./proxy.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Run one of the programs in `examples/`. */
function start(name: string, argv: readonly string[], env: { url: string; key: string; actor: string }) {
  const child = spawn(process.execPath, ["--import", "tsx", join(root, "examples", name, "main.ts"), ...argv], {
    cwd: root,
    env: { PATH: process.env["PATH"], PROVOST_URL: env.url, PROVOST_KEY: env.key, PROVOST_ACTING_USER: env.actor },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = { out: "", err: "" };
  child.stdout.on("data", (part: Buffer) => (said.out += part.toString()));
  child.stderr.on("data", (part: Buffer) => (said.err += part.toString()));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...said }));
  return { said, ended, kill: () => child.kill("SIGKILL") };
}

test("the reviewing client lists open requests, and decides one in the name of the person", async () => {
  const world = await createWorld();
  const [mona, adam] = [await world.staff("moderator"), await world.staff("admin")];
  const body = { user_id: world.member().id, action: "warning", reason: "Pings after being asked to stop." };
  await world.post("/workflows/punishment", body, { actor: mona });
  const run = (actor: string, ...argv: string[]) => start("review-client", argv, { url: world.url, key: world.key, actor }).ended;
  const [listed, refused] = await Promise.all([run(adam.id, "list"), run(mona.id, "approve", "punishment", "PUN-REQ-000001")]);
  expect(listed).toMatchObject({
    code: 0,
    err: "",
    out: expect.stringMatching(/^PUN-REQ-000001 \| punishment \| pending \| .* approve deny/),
  });
  expect(refused).toMatchObject({ code: 1, out: "", err: expect.stringMatching(/^You cannot approve PUN-REQ-000001: \{/) });
  const denied = await run(adam.id, "deny", "punishment", "PUN-REQ-000001", "Too short a reason? No.");
  expect(denied).toEqual({ code: 0, err: "", out: "PUN-REQ-000001 is denied: 0 of 1 approvals\n" });
  const read = await world.get("/workflows/punishment/PUN-REQ-000001", { actor: adam });
  expect(read.body.data.decision.by).toBe(adam.id);
});

const counting = async (world: World): Promise<string[]> =>
  (await world.get("/blacklist?status=active&limit=200")).body.data.map(({ number }: { number: string }) => number).toSorted();

test("the follower's file has every record that counts, after an end of it and a restart of the service", async () => {
  const world = await createWorld();
  const admin = await world.staff("admin");
  const proxy = await createProxy(world);
  const folder = await mkdtemp(join(tmpdir(), "provost-follower-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "blacklist.json");
  const follow = () => start("feed-follower", [file], { url: proxy.url, key: world.key, actor: admin.id });
  const kept = async (): Promise<string[]> => {
    const { records } = JSON.parse(await readFile(file, "utf8").catch(() => '{"records":{}}')) as {
      records: Record<string, { number: string }>;
    };
    return Object.values(records)
      .map(({ number }) => number)
      .toSorted();
  };
  const list = async () => {
    const { body } = await world.post("/blacklist", { kind: "user", subject_id: world.member().id, category: "raid" }, { actor: admin });
    return body.data.number as string;
  };
  const revoke = (number: string) => world.delete(`/blacklist/${number}`, { reason: "It was somebody else." }, { actor: admin });

  const numbers = [await list(), await list()];
  const first = follow();
  await expect.poll(kept).toEqual(numbers);
  numbers.push(await list());
  await revoke(numbers[0] ?? "");
  await expect.poll(kept).toEqual(numbers.slice(1));
  first.kill();
  await first.ended;
  await list();
  await revoke(numbers[1] ?? "");
  const second = follow();
  await expect.poll(kept).toEqual(await counting(world));
  await world.restart();
  await list();
  await expect.poll(kept).toEqual(await counting(world));
  expect((await counting(world)).length).toBe(3);
  expect([first.said.err, second.said.err]).toEqual(["", ""]);
});
