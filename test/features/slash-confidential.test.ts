import { expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";

test("a confidential request is told from none by no command about requests, and its kind by none", async () => {
  const world = await createWorld({ env: { REFERENCE_PREFIX: "ACME" } });
  const admin = await world.staff("admin");
  const suspect = await staffAtConsole(world, "viewer");
  const body = { subject: { kind: "user", id: suspect.id }, allegation: "Sold the keys of the house.", confidential: true };
  const filed = await world.post("/workflows/investigation", body, { actor: admin });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  const told = async (words: string, reference: string) =>
    (await world.slash(suspect, words, { reference })).replaceAll(reference, "it").replaceAll(reference.replaceAll("-", "\\-"), "it");
  for (const words of ["request withdraw", "review claim", "review approve", "review history", "review show"])
    expect.soft(await told(words, filed.body.reference), words).toBe(await told(words, "ACME-REQ-999999"));
});

test("whoever may decide of a kind without reading requests still finds those they may decide", async () => {
  const world = await createWorld();
  const [owner, decider] = [await world.staff("owner"), await staffAtConsole(world, "viewer")];
  const overrides = [
    { key: "workflows.punishment.decide", effect: "allow", reason: "Helps out" },
    { key: "workflows.read", effect: "deny", reason: "Reads nothing else" },
  ];
  expect((await world.patch(`/permissions/users/${decider.id}`, { overrides }, { actor: owner })).status).toBe(200);
  const body = { user_id: world.member().id, action: "warning", reason: "Insults in public." };
  const filed = await world.post("/workflows/punishment", body, { actor: await world.staff("moderator") });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  expect(await world.slash(decider, "review deny", { reference: filed.body.reference, reason: "Nothing of it is so." })).toContain(
    filed.body.reference.replaceAll("-", "\\-"),
  );
});
