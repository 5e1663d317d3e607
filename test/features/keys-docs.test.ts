import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { createWorld } from "../support/world.ts";
import { createPair, hashOf } from "../support/signer.ts";

test("the client in docs/keys.md does what the page says", async () => {
  const page = await readFile(new URL("../../docs/keys.md", import.meta.url), "utf8");
  const [, code] = /```js\n([^]*?)```/.exec(page) ?? [];
  if (code === undefined) throw new Error("docs/keys.md has no example");
  const [, query, claim] = /Of `([^`]+)` the claim is `([^`]+)`/.exec(page) ?? [];
  expect(hashOf(query ?? "")).toBe(claim);
  const world = await createWorld();
  const [owner, subject] = [await world.staff("owner"), world.member()];
  const pair = createPair();
  const input = { name: "documented", scopes: ["blacklist.*"], delegation: "signed", public_key: pair.jwk };
  const { body } = await world.post("/keys", input, { actor: owner });

  const folder = await mkdtemp(join(tmpdir(), "provost-docs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [script, keyFile] = [join(folder, "client.mjs"), join(folder, "site.pem")];
  await writeFile(script, code);
  await writeFile(keyFile, pair.privateKey.export({ type: "pkcs8", format: "pem" }));
  const env = { PATH: process.env["PATH"] ?? "", PROVOST_URL: world.url, PROVOST_KEY: body.data.key, PROVOST_PRIVATE_KEY_FILE: keyFile };
  const { stdout } = await promisify(execFile)(process.execPath, [script, owner.id, subject.id], { env });

  expect(JSON.parse(stdout)).toMatchObject({
    made: { status: 201, success: true, data: { subject_id: subject.id, category: "raid", created_by: owner.id } },
    found: { status: 200, data: [{ subject_id: subject.id }] },
    ended: { status: 200, data: { status: "revoked", revoked: { reason: "A mix-up: two people, one name" } } },
  });
  const [record] = await world.app.database.read.auditEntry.findMany({ where: { action: "blacklist.create" } });
  expect(record).toMatchObject({ actorId: owner.id, clientId: body.data.id });
});
