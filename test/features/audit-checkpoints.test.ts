import { randomBytes } from "node:crypto";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createCheckpoints } from "../../src/features/audit/checkpoints.ts";
import { createSigner } from "../../src/features/audit/sign.ts";
import { verifyOutside } from "../../src/features/audit/outside.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld } from "../support/world.ts";
import { createChainGround, entriesOf, type ChainGround } from "./audit-chain-ground.ts";

const linesOf = async ({ path }: ChainGround): Promise<string[]> => (await readFile(path, "utf8")).trimEnd().split("\n");
const parsedLines = async (ground: ChainGround) => (await linesOf(ground)).map((line) => JSON.parse(line));

test("the head is signed outside the database, told to the log, and proved by the published key", async () => {
  const ground = await createChainGround();
  await ground.record(...entriesOf(12));
  const { checkpoint, key } = await ground.audit.signHead(ground.call);
  const head = await ground.database.read.auditEntry.findFirstOrThrow({ orderBy: { seq: "desc" } });
  expect(checkpoint).toMatchObject({ v: 1, origin: "here", seq: 12, hash: head.hash, at: "2026-01-01T00:00:00.000Z", key: key.id });
  expect(await parsedLines(ground)).toEqual([checkpoint]);
  expect(JSON.parse(ground.lines[0] ?? "")).toMatchObject({ checkpoint });
  expect(await ground.audit.checkpoint(ground.call)).toEqual({ checkpoint, key });
  expect(await ground.verify()).toEqual({ ok: true, entries: 12, checkpoints: 1 });
  await ground.audit.signHead(ground.call);
  expect(await linesOf(ground)).toHaveLength(1);
});

test("a head is signed after enough entries, after enough minutes with news, and at a clean stop", async () => {
  const ground = await createChainGround({ entries: 10 });
  await ground.record(...entriesOf(9));
  await ground.audit.sweep(ground.call);
  await expect(linesOf(ground)).rejects.toThrow("ENOENT");
  await ground.record(...entriesOf(1));
  await expect.poll(async () => (await linesOf(ground).catch(() => [])).length, { timeout: 60_000 }).toBe(1);
  await ground.record(...entriesOf(1));
  ground.time.now += 9 * 60_000;
  await ground.audit.sweep(ground.call);
  expect(await linesOf(ground)).toHaveLength(1);
  ground.time.now += 60_000;
  await ground.audit.sweep(ground.call);
  expect((await parsedLines(ground)).map(({ seq }) => seq)).toEqual([10, 11]);
  ground.time.now += 3_600_000;
  await ground.audit.sweep(ground.call);
  expect(await linesOf(ground)).toHaveLength(2);
  await ground.record(...entriesOf(1));
  await ground.audit.close();
  expect((await parsedLines(ground)).map(({ seq }) => seq)).toEqual([10, 11, 12]);
  expect(await ground.verify()).toEqual({ ok: true, entries: 12, checkpoints: 3 });
});

test("the job does not sign again what is being signed when it looks", async () => {
  const ground = await createChainGround();
  let open = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  let asked = 0;
  const { record, database, path } = ground;
  const keeper = createCheckpoints({
    path,
    signer: ground.signer,
    minutes: 10,
    entries: 10,
    // Asked for a second time when the head is read and its line is about to be written.
    origin: async () => ((asked += 1) === 2 ? gate.then(() => "here") : "here"),
    head: async () => (await database.read.auditEntry.findFirst({ orderBy: { seq: "desc" } })) ?? undefined,
    hashAt: async (seq) => (await database.read.auditEntry.findUnique({ where: { seq } }))?.hash,
    clock: { now: () => new Date(ground.time.now) },
    logger: pino({ level: "silent" }),
  });
  await record(...entriesOf(10));
  keeper.note({ seq: 10, hash: "" });
  await expect.poll(() => asked, { timeout: 60_000 }).toBe(2);
  await record(...entriesOf(1));
  keeper.note({ seq: 11, hash: "" });
  const sweep = keeper.sweep();
  open();
  await sweep;
  expect((await parsedLines(ground)).map(({ seq }) => seq)).toEqual([10]);
});

test("a line that was cut off keeps to itself and is told", async () => {
  const ground = await createChainGround();
  await ground.record(...entriesOf(3));
  await ground.audit.signHead(ground.call);
  await appendFile(ground.path, '{"v":1,"origin":"he');
  expect(await ground.verify()).toEqual({
    ok: true,
    entries: 3,
    checkpoints: 1,
    checkpoint_warnings: [{ kind: "unreadable_line", count: 1 }],
  });
  await ground.record(...entriesOf(2));
  expect((await ground.audit.signHead(ground.call)).checkpoint?.seq).toBe(5);
  expect(await ground.verify()).toMatchObject({ ok: true, entries: 5, checkpoints: 2, checkpoint_warnings: [{ count: 1 }] });
});

test("a changed line is a finding, not a line that does not count", async () => {
  const ground = await createChainGround();
  for (let round = 0; round < 3; round += 1) {
    await ground.record(...entriesOf(4));
    await ground.audit.signHead(ground.call);
  }
  const [first = "", second = "", third = ""] = await linesOf(ground);
  for (const changed of [
    second.replace('"seq":8', '"seq":7'),
    second.replace(/"hash":"./, '"hash":"x'),
    second.replace("2026", "2025"),
    second.replace('"here"', '"there"'),
    second.replace(/"sig":".{10}/, '"sig":"AAAAAAAAAA'),
  ]) {
    expect(changed).not.toBe(second);
    await writeFile(ground.path, [first, changed, third, ""].join("\n"));
    expect(await ground.verify()).toMatchObject({ ok: false, kind: "checkpoint_forged", checkpoints: 2 });
  }
});

test("lines of an earlier key are compared, and proved when that key is named", async () => {
  const seed = randomBytes(32);
  const ground = await createChainGround({ seed });
  await ground.record(...entriesOf(4));
  await ground.audit.signHead(ground.call);
  const after = ground.open(randomBytes(32));
  await ground.record(...entriesOf(4));
  await after.audit.signHead(ground.call);
  const told = { ok: true, entries: 8, checkpoints: 1, checkpoint_warnings: [{ kind: "other_key", count: 1 }] };
  expect(await after.audit.verify(ground.call)).toEqual(told);
  const outside = (keys: { id: string; publicKey: string }[], path = ground.path) =>
    verifyOutside({ from: { database: ground.url }, checkpoints: path, keys });
  expect(await outside([after.signer])).toEqual(told);
  expect(await outside([after.signer, createSigner(seed)])).toEqual({ ok: true, entries: 8, checkpoints: 2 });
  const [first = "", second = ""] = await linesOf(ground);
  await writeFile(ground.path, [first.replace(/"hash":"...../, '"hash":"00000'), second, ""].join("\n"));
  expect(await outside([after.signer])).toMatchObject({ ok: false, first_bad_seq: 4, kind: "checkpoint_mismatch" });
});

test("a file that cannot be written shows in the health answer, and refuses no request", async () => {
  const world = await createWorld({ env: { AUDIT_CHECKPOINTS: "/dev/null/checkpoints.log" } });
  const owner = await world.staff("owner");
  expect((await world.get("/health", { actor: owner })).body.checks.audit_checkpoints).toEqual({ status: "pass" });
  await expect(world.app.audit.signHead(systemCall("cli", uuid7()))).rejects.toThrow();
  const checks = async (actor?: User) =>
    (await world.get("/health", { key: actor === undefined ? null : world.key, ...(actor && { actor }) })).body;
  expect((await checks(owner)).checks.audit_checkpoints).toEqual({
    status: "warn",
    reason: expect.stringMatching(/^The head of the audit cannot be signed/),
  });
  expect(await checks()).toMatchObject({ success: true, status: "degraded", checks: { audit_checkpoints: { status: "warn" } } });
  expect((await checks()).checks.audit_checkpoints).not.toHaveProperty("reason");
  expect((await world.post("/blacklist", { kind: "user", subject_id: owner.id }, { actor: owner })).status).not.toBe(500);
  expect((await world.get("/audit", { actor: owner })).status).toBe(200);
});

test("while the file refuses, its reason is kept and the next sweep tries again", async () => {
  const ground = await createChainGround({ entries: 2 });
  await rm(dirname(ground.path), { recursive: true, force: true });
  await writeFile(dirname(ground.path), "a file where the folder was");
  await ground.record(...entriesOf(5));
  await expect.poll(() => ground.audit.state().reason, { timeout: 60_000 }).toMatch(/ is a file, or lies below one\. Name a folder\.$/);
  expect(ground.lines.filter((line) => JSON.parse(line).level === 50).length).toBe(1);
  await ground.record(...entriesOf(5));
  expect(ground.lines.filter((line) => JSON.parse(line).level === 50).length).toBe(1);
  await rm(dirname(ground.path));
  await mkdir(dirname(ground.path));
  await ground.audit.sweep(ground.call);
  expect(ground.audit.state()).toEqual({});
  expect(await linesOf(ground)).toHaveLength(1);
});

test("a chain that is shorter than its newest signed position is told, and signs nothing", async () => {
  const ground = await createChainGround();
  await ground.record(...entriesOf(5));
  const { keeper, signer } = ground;
  await writeFile(
    ground.path,
    `${JSON.stringify(signer.sign({ origin: "here", seq: 9, hash: "f".repeat(64), at: "2026-01-01T00:00:00.000Z" }))}\n`,
  );
  await keeper.close();
  expect(ground.audit.state().reason).toMatch(/^The chain is shorter/);
  expect(await linesOf(ground)).toHaveLength(1);
  expect(await ground.verify()).toMatchObject({ ok: false, first_bad_seq: 6, kind: "tail_missing" });
  expect(await verifyOutside({ from: { database: ground.url }, checkpoints: ground.path, keys: [signer], isBackup: true })).toMatchObject({
    ok: true,
  });
});

/** A chain of five entries under a file that knows of twelve: a backup was put back. */
async function createRestored() {
  const ground = await createChainGround();
  await ground.record(...entriesOf(5));
  await ground.audit.signHead(ground.call);
  const lost = [9, 12].map((seq) => ({
    origin: "here",
    seq,
    hash: "f".repeat(64),
    at: `2026-01-01T00:${seq.toString().padStart(2, "0")}:00.000Z`,
  }));
  for (const line of lost) await appendFile(ground.path, `${JSON.stringify(ground.signer.sign(line))}\n`);
  return ground;
}
const why = { reason: "Disk lost; the backup of noon was put back." };

test("after a backup was put back nothing is signed until a person says so, however far the chain has grown", async () => {
  const ground = await createRestored();
  const { audit, call } = ground;
  await expect(audit.signHead(call)).rejects.toThrow(/^The chain is shorter .* `provost audit checkpoint --after-restore/);
  expect(await ground.verify()).toMatchObject({ ok: false, first_bad_seq: 6, kind: "tail_missing" });
  expect(await audit.leftBehind(call)).toMatchObject({ to: { seq: 5 }, from: 12, count: 2, since: "2026-01-01T00:09:00.000Z" });
  await ground.record(...entriesOf(10));
  await expect(audit.signHead(call)).rejects.toThrow(/^The chain is another one .* `provost audit checkpoint --after-restore/);
  expect(audit.state().reason).toMatch(/--after-restore/);
  expect(await linesOf(ground)).toHaveLength(3);
  expect(await ground.verify()).toMatchObject({ ok: false, first_bad_seq: 9, kind: "checkpoint_mismatch" });
  await expect(audit.acceptRestore(call, { reason: "short" })).rejects.toThrow();
  expect(await ground.database.read.auditEntry.count()).toBe(15);

  expect((await audit.acceptRestore(call, why)).checkpoint).toMatchObject({ seq: 16 });
  const written = (await parsedLines(ground)).map(({ seq, restored }) => ({ seq, restored }));
  expect(written.slice(3)).toEqual([
    { seq: 8, restored: { from: 12, ...why } },
    { seq: 16, restored: undefined },
  ]);
  const [entry] = (await audit.list(call, { action: "audit.restore" })).data;
  expect(entry).toMatchObject({ seq: 16, ...why, after: { from: 12, to: 8 } });
  const told = { ok: true, entries: 16, checkpoints: 3, checkpoint_warnings: [{ kind: "restored", count: 2 }] };
  expect(await ground.verify()).toEqual(told);
  expect(await verifyOutside({ from: { database: ground.url }, checkpoints: ground.path, keys: [ground.signer] })).toEqual(told);
  expect(audit.state()).toEqual({});
  await ground.record(...entriesOf(1));
  expect((await audit.signHead(call)).checkpoint).toMatchObject({ seq: 17 });
});

test("where the chain has every signed position there is nothing to accept", async () => {
  const ground = await createChainGround();
  await ground.record(...entriesOf(5));
  await ground.audit.signHead(ground.call);
  await expect(ground.audit.acceptRestore(ground.call, why)).rejects.toMatchObject({ code: "unsupported_operation" });
  expect(await ground.database.read.auditEntry.count()).toBe(5);
  expect(await linesOf(ground)).toHaveLength(1);
});

test("only a line signed by this installation says that a backup was put back, and only of what was signed before it", async () => {
  const ground = await createRestored();
  const { hash } = await ground.database.read.auditEntry.findUniqueOrThrow({ where: { seq: 5 } });
  const said = { origin: "here", seq: 5, hash, at: "2026-01-02T00:00:00.000Z", restored: { from: 12, ...why } };
  const signed = ground.signer.sign(said);
  const { sig: _sig, ...unsigned } = signed;
  const lines = await readFile(ground.path, "utf8");
  for (const line of [
    unsigned,
    { ...signed, sig: signed.sig.replace(/^.{8}/, "AAAAAAAA") },
    { ...ground.signer.sign({ ...said, restored: { from: 10, ...why } }), restored: said.restored },
    createSigner(randomBytes(32)).sign(said),
    ground.signer.sign({ ...said, origin: "elsewhere" }),
    ground.signer.sign({ ...said, at: "2026-01-01T00:00:00.000Z" }),
  ]) {
    await writeFile(ground.path, `${lines}${JSON.stringify(line)}\n`);
    const answer = await ground.verify();
    expect(answer).toMatchObject({ ok: false });
    expect(answer.checkpoint_warnings ?? []).not.toContainEqual(expect.objectContaining({ kind: "restored" }));
  }
  await writeFile(ground.path, `${lines}${JSON.stringify(signed)}\n`);
  expect(await ground.verify()).toMatchObject({ ok: true, checkpoint_warnings: [{ kind: "restored", count: 2 }] });
});

test("a key of this installation for another one means that the database was exchanged", async () => {
  const ground = await createChainGround();
  await ground.record(...entriesOf(3));
  const head = await ground.database.read.auditEntry.findFirstOrThrow({ orderBy: { seq: "desc" } });
  const line = { origin: "elsewhere", seq: 3, hash: head.hash, at: "2026-01-01T00:00:00.000Z" };
  await writeFile(ground.path, `${JSON.stringify(ground.signer.sign(line))}\n`);
  expect(await ground.verify()).toMatchObject({ ok: false, first_bad_seq: 3, kind: "checkpoint_mismatch" });
  await writeFile(ground.path, `${JSON.stringify(createSigner(randomBytes(32)).sign(line))}\n`);
  expect(await ground.verify()).toMatchObject({
    ok: true,
    checkpoints: 0,
    checkpoint_warnings: [{ kind: "other_installation", count: 1 }],
  });
});

test("details past their time are erased by the sweep, and the chain says so", async () => {
  const ground = await createChainGround({ detailsDays: 30 });
  await ground.record(...entriesOf(600));
  ground.time.now += 29 * 86_400_000;
  await ground.record(...entriesOf(3));
  expect(await ground.audit.sweep(ground.call)).toBe(0);
  ground.time.now += 2 * 86_400_000;
  expect(await ground.audit.sweep(ground.call)).toBe(600);
  expect(await ground.database.read.auditPayload.count()).toBe(5);
  const entries = await ground.database.read.auditEntry.findMany({ where: { action: "audit.retain" }, orderBy: { seq: "asc" } });
  expect(entries.map(({ erased }) => erased)).toEqual(["[[1,500]]", "[[501,600]]"]);
  expect(await ground.audit.sweep(ground.call)).toBe(0);
  expect(await ground.verify()).toMatchObject({ ok: true, entries: 605 });
});
