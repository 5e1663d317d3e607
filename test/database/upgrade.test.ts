// @module-tag slow
import { hash } from "node:crypto";
import { access } from "node:fs/promises";
import { beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";
import { migrate } from "../../src/database/database.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { download } from "../features/evidence-ground.ts";
import { differences } from "./differences.ts";
import {
  createOldDiscord,
  placeOldInstallation,
  readOldInstallation,
  readRows,
  startOn,
  type OldInstallation,
  type Rows,
  type Upgraded,
} from "./old-installation.ts";

/** The columns that migrations changed in the rows there were, and why; every other column of every row stays as it is. */
const changedColumns: Record<string, Record<string, string>> = {
  evidence_items: { sha256: "hashes_of_evidence: a hash by which a short text can be guessed is kept no more" },
  workflow_requests: {
    summary: "private_summaries: where it repeats the reason of a request about the blacklist, which is internal",
    checks: "consent_of_checks: those that rest on a consent say so, and end with it",
    priority_order: "list_orders: it is part of `queue_order`",
  },
};
/** The rows that migrations add. */
const addedRows: Record<string, string[]> = { counters: ["audit"], settings: ["evidence_commitments"] };

test("after the migrations every row of every table is there as it was, but for what a migration says it changes", async () => {
  const old = await readOldInstallation();
  expect(Object.entries(old.rows).filter(([, rows]) => rows.length === 0)).toEqual([]);
  const { url } = await placeOldInstallation(old);
  await migrate(url);
  const now = await readRows(url, Object.keys(old.rows));
  const answers = "idempotency_records";
  const before: Rows = { ...old.rows, [answers]: parsed(old.rows[answers] ?? []) };
  const after: Rows = { ...now, [answers]: parsed(now[answers] ?? []) };
  for (const [table, rows] of Object.entries(before)) {
    const columns = Object.keys(rows[0] ?? {}).filter((name) => changedColumns[table]?.[name] === undefined);
    const added = (after[table] ?? []).filter((row) => addedRows[table]?.includes(String(row["name"] ?? row["key"])));
    const kept = (after[table] ?? []).filter((row) => !added.includes(row));
    expect.soft([table, texts(kept, columns)]).toEqual([table, texts(rows, columns)]);
    expect.soft([table, added.length]).toEqual([table, addedRows[table]?.length ?? 0]);
  }
});

const texts = (rows: Rows[string], columns: readonly string[]): string[] =>
  rows.map((row) => JSON.stringify(columns.map((name) => row[name]))).toSorted();

/** `answers_as_text`: PostgreSQL keeps the body of an answer as text since, which says the same. */
const parsed = (rows: Rows[string]): Rows[string] =>
  rows.map((row) => ({ ...row, body: typeof row["body"] === "string" ? JSON.parse(row["body"]) : row["body"] }));

/** What the service answers otherwise than the version before, and why. */
const otherAnswers: Record<string, RegExp> = {
  "when it was asked": /^(meta\.as_of|data\.evaluated_at)$/,
  "there are more permissions": /^data\[\]\.permissions_count$/,
  "a reason that is internal is copied into no summary": /^data(\[\])?\.summary$/,
  "a request for the blacklist takes no invites": /^data\[\]\.payload\.invite_codes$/,
  "checks end with the consent they rest on": /^data\[\]\.checks\[\]\.(result|detail)$/,
  "the audit keeps no hash of evidence": /^data\[\]\.(reason|before|after)$/,
  "the audit has grown": /^data\.(entries|checkpoints)$/,
};

describe("the service, started on what an earlier version left", () => {
  let old: OldInstallation;
  let place: Awaited<ReturnType<typeof placeOldInstallation>>;
  let sandbox: Sandbox;
  let service: Upgraded;
  beforeAll(async () => {
    old = await readOldInstallation();
    const ends: (() => Promise<void>)[] = [];
    place = await placeOldInstallation(old, (end) => ends.push(end));
    sandbox = await createOldDiscord(old);
    service = await startOn(old, place, sandbox);
    return async () => {
      await service.stop();
      await sandbox.stop();
      for (const end of ends) await end();
    };
  });
  const get = async (path: string) => (await service.request("GET", path)).body;

  test.runIf(inject("dialect") === "sqlite")("has copied the database file before it changed it", async () => {
    await access(`${sqliteFile(place.url)}.before-20261123130000_default_callsign_pool`);
  });

  test("answers the old keys as before, each within its scopes", async () => {
    const ofScoped = { key: old.scoped, actor: null };
    expect((await service.request("GET", "/blacklist", undefined, ofScoped)).status).toBe(200);
    expect((await service.request("GET", "/staff", undefined, ofScoped)).body).toMatchObject({ status: 403, code: "permission_denied" });
    expect((await service.request("GET", "/staff", undefined, { key: `${old.key}x` })).status).toBe(401);
  });

  test("answers what the earlier version answered, but for what has other reasons", async () => {
    const found: { path: string; place: string }[] = [];
    for (const [path, before] of Object.entries(old.answers))
      found.push(...differences(before, await get(path)).map((one) => ({ path, ...one })));
    const patterns = Object.values(otherAnswers);
    expect(found.filter((one) => !patterns.some((pattern) => pattern.test(one.place)))).toEqual([]);
    expect(patterns.filter((pattern) => !found.some((one) => pattern.test(one.place)))).toEqual([]);
  });

  test("verifies the audit from its first entry, with the positions that the earlier version signed", async () => {
    const signed = Buffer.from(old.files["checkpoints.log"] ?? "", "base64")
      .toString()
      .trim()
      .split("\n").length;
    const { data } = await get("/audit/verify");
    expect(data.ok).toBe(true);
    expect(data.entries).toBeGreaterThan(old.rows["audit_entries"]?.length ?? Infinity);
    expect(data.checkpoints).toBeGreaterThanOrEqual(signed);
  });

  test("serves the bytes of evidence that were stored", async () => {
    const { data } = await get(`/cases/${old.case.id}/evidence`);
    const stored = data.flatMap(({ id, file, message }: any) =>
      [file, ...(message?.attachments ?? [])].flatMap((one) => (one ? [{ id, ...one }] : [])),
    );
    expect(stored).toHaveLength(2);
    for (const { id, position, sha256 } of stored) {
      const { status, bytes } = await download({ url: service.app.address(), key: old.key }, id, position, { id: old.owner });
      expect([status, hash("sha256", bytes)]).toEqual([200, sha256]);
    }
  });

  test("opens what was encrypted: the tokens it tells Discord to end are those that Discord gave", async () => {
    await service.app.runJobs();
    expect((await service.request("DELETE", `/users/${old.rogue}/authorization`)).status).toBe(200);
    const ended = sandbox.exchanges.flatMap(({ path, requestBody }) =>
      path.endsWith("/token/revoke") ? [(requestBody as { token: string }).token] : [],
    );
    // One that waited since the earlier version, as Discord was down, and one of now.
    expect(ended).toHaveLength(2);
    expect(old.tokens).toEqual(expect.arrayContaining(ended));
  });

  test("decides a request that was filed before", async () => {
    const decision = { decision: "approve", reason: "It was looked into." };
    const { body } = await service.request("POST", `/workflows/punishment/${old.requests.waiting}/decision`, decision, {
      actor: old.admin,
    });
    expect(body).toMatchObject({ status: "approved", final: true });
    const strikes = (await get(`/users/${old.accused}/strikes`)).meta.points_in_force;
    expect(strikes).toBe((old.answers[`/users/${old.accused}/strikes`] as any).meta.points_in_force + 1);
  });

  test("takes back what an earlier version decided, with what came of it", async () => {
    const path = `/workflows/blacklist-user/${old.requests.reversible}`;
    const decision = { decision: "reverse", reason: "It was somebody else." };
    const answers = [];
    for (const actor of [old.admin, old.owner]) answers.push((await service.request("POST", `${path}/decision`, decision, { actor })).body);
    expect(answers.at(-1)).toMatchObject({ status: "reversed", final: true });
    const { reference } = answers.at(-1).effects.find(({ key }: any) => key === "blacklist.create").target;
    expect((await get(`/blacklist/${reference}`)).data).toMatchObject({ status: "revoked" });
  });

  test("does nothing twice for a request that is repeated across the upgrade", async () => {
    const subjects = [{ kind: "user", id: old.accused }];
    const body = { subjects, template: "report", title: "Insults in the lounge", team: [old.senior] };
    const asked = { actor: old.admin, headers: { "idempotency-key": "fixture-case-0001" } };
    // The fingerprint of a body has a key now, by which nobody can guess the body; the earlier one had none.
    expect((await service.request("POST", "/cases", body, asked)).body.code).toBe("idempotency_key_reused");
  });

  test("carries out a change that waited for a second person, who says yes in Discord", async () => {
    const [{ code = "", subject_user_id: subject = "" } = {}] = old.rows["confirmations"] ?? [];
    const owner = sandbox.inside.world.users.get(old.owner);
    if (owner === undefined) throw new Error("the owner is gone");
    const run = await sandbox
      .as(owner)
      .in(old.discord.guild)
      .runSlashCommand("confirm accept", { code: String(code) });
    await run.reply();
    expect((await get(`/permissions/users/${String(subject)}`)).data.overrides).toContainEqual(
      expect.objectContaining({ key: "staff.suspend" }),
    );
  });

  test("goes on with the next number: of records, in the feed of the blacklist, and of events", async () => {
    const lastIn = async (): Promise<number> => (await get("/blacklist/changes?limit=200")).data.at(-1).seq;
    const [before, records, events] = [await lastIn(), (await get("/blacklist?limit=200")).data.length, await newestEvent()];
    expect(before).toBeGreaterThan(old.rows["blacklist_changes"]?.length ?? Infinity);
    const made = await service.request("POST", "/blacklist", { kind: "user", subject_id: old.accused, category: "scam", severity: "low" });
    expect(made.body.data.number).toBe(`BL-${String(records + 1).padStart(6, "0")}`);
    expect(await lastIn()).toBe(before + 1);
    expect(await newestEvent()).toBeGreaterThan(events);
    expect((await get("/audit/verify")).data.ok).toBe(true);
  });

  /** Events have no gap from the first one that the earlier version wrote. */
  async function newestEvent(): Promise<number> {
    const { outbox_events: rows = [] } = await readRows(place.url, ["outbox_events"]);
    const numbers = rows.map(({ seq }) => Number(seq)).toSorted((a, b) => a - b);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    return numbers.length;
  }
});

test("a second start changes nothing", async () => {
  const old = await readOldInstallation();
  const place = await placeOldInstallation(old);
  const sandbox = await createOldDiscord(old);
  onTestFinished(() => sandbox.stop());
  const started = async (): Promise<Rows> => {
    const service = await startOn(old, place, sandbox);
    await service.app.runJobs();
    await service.stop();
    const { guilds = [], ...rows } = await readRows(place.url, Object.keys(old.rows));
    // When the members were last read is another time at each start.
    return { ...rows, guilds: guilds.map(({ synced_at: _synced, updated_at: _updated, ...guild }) => guild) };
  };
  const first = await started();
  expect(await started()).toEqual(first);
});
