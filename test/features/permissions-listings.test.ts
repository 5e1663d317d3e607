import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { createListings } from "../../src/features/permissions/access/facts.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { openServices } from "../../src/features.ts";
import { validEnvironment } from "../config/environment.ts";
import { createEmptyCopy } from "../support/database.ts";
import { createWorld } from "../support/world.ts";

const cli = () => systemCall("cli", uuid7());

/** A running service, and the command line on the same database. */
async function createTwo() {
  const { url, remove } = await createEmptyCopy();
  onTestFinished(remove);
  const environment = { ...validEnvironment(), DATABASE_URL: url, SQLITE_SYNCHRONOUS: "normal" };
  const { SECRET_KEY = "", ENCRYPTION_KEYS = "" } = environment as Record<string, string>;
  const world = await createWorld({ env: { DATABASE_URL: url, SECRET_KEY, ENCRYPTION_KEYS } });
  const folder = await mkdtemp(join(tmpdir(), "provost-listings-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const reading = readConfig({ ...environment, GUILD_IDS: world.guild.id, DATA_DIR: folder });
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  const other = await openServices(reading);
  onTestFinished(() => other.close());
  return { world, other };
}

test("whom another process lists has no access within a minute, and has it again when that ends", async () => {
  const { world, other } = await createTwo();
  const { access } = world.app;
  const moderator = await world.staff("moderator");
  const status = async () => (await world.get("/blacklist", { actor: moderator })).status;
  const list = () => other.blacklist.create(cli(), { kind: "user", subject_id: moderator.id, category: "scam", severity: "high" });
  expect(await status()).toBe(200);
  const { id } = await list();
  expect(await status()).toBe(200);
  await access.pollListings();
  expect(await status()).toBe(403);

  const { version } = access;
  await other.blacklist.create(cli(), { kind: "server", subject_id: "613425648685547541", category: "raiding", severity: "high" });
  await access.pollListings();
  await access.pollListings();
  expect(access.version).toBe(version);
  await other.blacklist.update(cli(), id, { severity: "low" });
  await access.pollListings();
  expect(await status()).toBe(200);

  await other.blacklist.update(cli(), id, { severity: "critical" });
  await access.pollListings();
  expect(await status()).toBe(403);
  await other.blacklist.revoke(cli(), id, { reason: "A mistake." });
  await other.blacklist.purge(cli(), id, { reason: "Nothing of it was true." });
  await access.pollListings();
  expect(await status()).toBe(200);
});

test("what this process hears of itself while it looks is not replaced by what was read before", async () => {
  const row = { id: "r", kind: "user", scope: "network", subjectId: "1", status: "active", severity: "high" };
  const listed = { ...row, startsAt: new Date(0), expiresAt: null };
  const read = {
    blacklistChange: { findMany: () => Promise.resolve([{ seq: 1, recordId: "r", kind: "user" }]) },
    $select: () => {
      listings.set("1", "r", null);
      return Promise.resolve([listed]);
    },
  };
  const listings = createListings({ read } as never, () => undefined);
  await listings.poll();
  expect(listings.of("1")).toBeNull();
});
