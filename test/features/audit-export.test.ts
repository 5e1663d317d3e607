import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { verifyOutside } from "../../src/features/audit/outside.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld } from "../support/world.ts";
import { createChainGround, entriesOf, growChain, type ChainGround } from "./audit-chain-ground.ts";

const linesOf = async (body: Readable | string): Promise<string[]> =>
  (typeof body === "string" ? body : await text(body)).trimEnd().split("\n");

/** A chain with erased details and signed positions, exported to a file. */
async function createExport(filters = {}) {
  const ground = await createChainGround();
  await ground.record(...entriesOf(30));
  await ground.audit.signHead(ground.call);
  await ground.database.write(ground.call, (tx) => ground.audit.erase(tx, { targetId: "3" }, { action: "thing.purge" }));
  await ground.audit.signHead(ground.call);
  const lines = await linesOf(await ground.audit.export(ground.call, filters));
  const file = join(ground.folder, "audit.ndjson");
  return { ground, lines, check: (changed: string[]) => checkLines(ground, file, changed) };
}

async function checkLines(ground: ChainGround, file: string, lines: string[]) {
  await writeFile(file, `${lines.join("\n")}\n`);
  return verifyOutside({ from: { file }, checkpoints: ground.path, keys: [ground.signer] });
}

test("a complete export holds everything that verifies the chain without the database", async () => {
  const { ground, lines, check } = await createExport();
  expect(JSON.parse(lines[0] ?? "")).toEqual({ v: 1, origin: "here", made_at: "2026-01-01T00:00:00.000Z", filters: {}, complete: true });
  expect(JSON.parse(lines.at(-1) ?? "")).toEqual({ end: true, entries: 32 });
  expect(lines).toHaveLength(34);
  expect(JSON.parse(lines[31] ?? "")).toMatchObject({ seq: 31, action: "thing.purge" });
  expect(JSON.parse(lines[32] ?? "")).toMatchObject({
    seq: 32,
    action: "audit.export",
    payload: { after: { filters: {}, complete: true } },
  });
  expect(await check(lines)).toEqual({ ok: true, entries: 32, checkpoints: 2 });
  expect(await ground.verify()).toEqual({ ok: true, entries: 32, checkpoints: 2 });
});

test("a changed, removed, added, moved or cut line of an export is found", async () => {
  const { lines, check } = await createExport();
  const at = (index: number, line: string): string[] => lines.with(index, line);
  const entry = lines[9] ?? "";
  expect(await check(at(9, entry.replace("thing.", "thong.")))).toMatchObject({ ok: false, first_bad_seq: 9, kind: "entry_changed" });
  expect(await check(at(9, entry.replace("reason 8", "reason 9")))).toMatchObject({ ok: false, first_bad_seq: 9, kind: "payload_changed" });
  expect(await check(lines.toSpliced(9, 1))).toMatchObject({ ok: false, first_bad_seq: 9, kind: "entry_missing" });
  expect(await check(lines.toSpliced(9, 0, entry))).toMatchObject({ ok: false, first_bad_seq: 9, kind: "order_changed" });
  expect(await check(lines.with(9, lines[10] ?? "").with(10, entry))).toMatchObject({ ok: false, first_bad_seq: 9 });
  const { salt: _salt, payload: _payload, ...bare } = JSON.parse(entry);
  expect(await check(at(9, JSON.stringify(bare)))).toMatchObject({ ok: false, first_bad_seq: 9, kind: "details_missing" });
  expect(await check(lines.slice(0, 20))).toMatchObject({ ok: false, first_bad_seq: 20, kind: "tail_missing" });
  expect(await check([...lines.slice(0, 33), '{"end":true,"entries":31}'])).toMatchObject({
    ok: false,
    first_bad_seq: 33,
    kind: "tail_missing",
  });
  await expect(check(["{}"])).rejects.toThrow("is no export of the audit");
});

test("positions that were signed after an export are not held against it", async () => {
  const { ground, lines, check } = await createExport();
  ground.time.now += 1000;
  await ground.record(...entriesOf(5));
  await ground.audit.signHead(ground.call);
  expect(await check(lines)).toEqual({
    ok: true,
    entries: 32,
    checkpoints: 2,
    checkpoint_warnings: [{ kind: "newer_than_copy", count: 1 }],
  });
});

test("a filtered export says that it is not complete, and what is in it is still verified", async () => {
  const { lines, check } = await createExport({ action: "thing.create" });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ complete: false, filters: { action: "thing.create" } });
  expect(lines).toHaveLength(12);
  expect(await check(lines)).toMatchObject({ ok: true, entries: 10 });
  expect(await check(lines.with(5, (lines[5] ?? "").replace("thing.create", "thing.delete")))).toMatchObject({
    ok: false,
    kind: "entry_changed",
  });
});

test("through the door: entries that may not be known of are left out, details only for readers of the audit", async () => {
  const world = await createWorld();
  const [owner, senior] = [await world.staff("owner"), await world.staff("senior")];
  expect((await world.get("/audit/export", { actor: senior })).body.code).toBe("permission_denied");
  const whole = await world.get("/audit/export", { actor: owner });
  expect([whole.status, whole.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
  const lines = await linesOf(whole.body);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ v: 1, complete: true });
  expect(JSON.parse(lines.at(-2) ?? "")).toMatchObject({ action: "audit.export", actor_id: owner.id, permission_used: "audit.export" });
  expect(JSON.parse(lines.at(-1) ?? "")).toEqual({ end: true, entries: lines.length - 2 });
  world.app.audit.registerHiddenIds(() => Promise.resolve([JSON.parse(lines[1] ?? "").target_id]));
  const less = await linesOf((await world.get("/audit/export", { actor: owner })).body);
  expect(JSON.parse(less[0] ?? "")).toMatchObject({ complete: false });
  expect(less.some((line) => JSON.parse(line).seq === 1)).toBe(false);
  const key = await world.makeKey(["audit.export"], "none");
  const bare = await linesOf((await world.get("/audit/export", { key })).body);
  expect(JSON.parse(bare[0] ?? "")).toMatchObject({ complete: false });
  for (const line of bare) expect(JSON.parse(line)).not.toHaveProperty("payload");
});

/** The program that the documentation prints, as somebody outside would copy and run it. */
async function createPrintedVerifier(folder: string) {
  const [, program] = /```js\n(\/\/ verify-export\.mjs\n[\s\S]*?)```/.exec(await readFile("docs/audit.md", "utf8")) ?? [];
  if (program === undefined) throw new Error("docs/audit.md prints no verifier");
  const [script, file] = [join(folder, "verify-export.mjs"), join(folder, "printed.ndjson")];
  await writeFile(script, program);
  return async (lines: readonly string[]): Promise<{ code: number | null; said: string }> => {
    await writeFile(file, `${lines.join("\n")}\n`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, file], { encoding: "utf8" });
    return { code: status, said: stdout + stderr };
  };
}

test("the verifier that the documentation prints accepts an export of the service, and finds each way to change it", async () => {
  const world = await createWorld();
  const [owner, person] = [await world.staff("owner"), world.member()];
  for (const [index, reason] of ["Über die Höhe 😀 \u2028", "plain", 'quoted "x" \\'].entries()) {
    const record = { kind: "user", subject_id: `8035111022467800${index.toString()}`, reason_internal: reason, severity: "low" };
    expect((await world.post("/blacklist", record, { actor: owner })).status).toBe(201);
  }
  const patch = { overrides: [{ key: "users.refresh", effect: "deny", reason: "erased later" }] };
  expect((await world.patch(`/permissions/users/${person.id}`, patch, { actor: owner })).status).toBe(200);
  await world.app.database.write(systemCall("job", uuid7()), (tx) =>
    world.app.audit.erase(tx, { targetId: person.id }, { action: "thing.purge" }),
  );
  const folder = await mkdtemp(join(tmpdir(), "provost-printed-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const verify = await createPrintedVerifier(folder);
  const exported = async (query = "") => linesOf((await world.get(`/audit/export${query}`, { actor: owner })).body);

  const lines = await exported();
  const entries = lines.slice(1, -1).map((line) => JSON.parse(line));
  expect(entries.some((entry) => entry.payload === undefined)).toBe(true);
  expect(await verify(lines)).toMatchObject({ code: 0, said: expect.stringContaining(`${entries.length.toString()} entries`) });
  expect(await verify(await exported("?action=blacklist.create"))).toMatchObject({ code: 0 });

  const [index, entry] = [3, entries[2]];
  const changed = (change: object): string[] => lines.with(index, JSON.stringify({ ...entry, ...change }));
  const { salt: _salt, payload: _payload, ...bare } = entry;
  const damaged: Record<string, string[]> = {
    "an edited column": changed({ actor_id: person.id }),
    "a column set to null": changed({ permission_used: null }),
    "edited details": changed({ payload: { ...entry.payload, reason: "another" } }),
    "details taken away": lines.with(index, JSON.stringify(bare)),
    "an entry taken away": lines.toSpliced(index, 1),
    "the first entry taken away": lines.toSpliced(1, 1),
    "the last entry taken away": lines.toSpliced(-2, 1),
    "a swapped pair": lines.with(index, lines[index + 1] ?? "").with(index + 1, lines[index] ?? ""),
    "an entry that stands twice": lines.toSpliced(index, 0, lines[index] ?? ""),
    "no end": lines.slice(0, -1),
    "no head": lines.slice(1),
    nothing: [],
  };
  for (const [what, changedLines] of Object.entries(damaged)) {
    const { code, said } = await verify(changedLines);
    expect([what, code, said]).toEqual([what, 1, expect.stringMatching(/^\S/)]);
    expect(said).not.toMatch(/^\s+at /m);
  }
});

test("an export whose reader leaves stops reading", async () => {
  const ground = await createChainGround();
  await growChain(ground.database, 8000);
  const body = await ground.audit.export(ground.call, {});
  const reads = vi.spyOn(ground.database.read.auditPayload, "findMany");
  for await (const chunk of body) {
    expect(String(chunk).length).toBeGreaterThan(0);
    break;
  }
  expect(body.destroyed).toBe(true);
  const known = reads.mock.calls.length;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(reads.mock.calls.length).toBeLessThanOrEqual(known + 1);
  expect(known).toBeLessThan(10);
  reads.mockRestore();
});
