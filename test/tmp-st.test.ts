// @module-tag both
import { writeFileSync } from "node:fs";
import { test, inject } from "vitest";
import { createWorld } from "./support/world.ts";
import { statementsOf } from "./support/statements.ts";

test("statements", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const admin = await world.staff("admin");
  const mod = await world.staff("moderator");
  const senior = await world.staff("senior");
  const out: string[] = [];
  const show = async (name: string, work: () => Promise<unknown>) => {
    const list = await statementsOf(work);
    out.push(`## ${name}: ${list.length}`, ...list.map((one) => "   " + one.slice(0, 700)));
  };
  await world.post(
    "/blacklist",
    { kind: "user", subject_id: world.member().id, category: "raid", reason_public: "x y z" },
    { actor: owner },
  );
  await new Promise((r) => setTimeout(r, 1200));
  let made: any;
  await show("POST /blacklist", async () => {
    made = await world.post(
      "/blacklist",
      { kind: "user", subject_id: world.member().id, category: "raid", reason_public: "spam in trade" },
      { actor: owner },
    );
  });
  await show("POST /blacklist idem", async () => {
    made = await world.post(
      "/blacklist",
      { kind: "user", subject_id: world.member().id, category: "raid", reason_public: "spam in trade" },
      { actor: owner, headers: { "idempotency-key": "abcdefgh1" } },
    );
  });
  await show("GET /blacklist/id", () => world.get(`/blacklist/${made.body.data.id}`, { actor: owner }));
  await show("GET /blacklist", () => world.get(`/blacklist?limit=50`, { actor: owner }));
  await show("GET access", () => world.get(`/staff/${mod.id}/access`, { actor: owner }));
  const target = world.member();
  let filed: any;
  const body = { user_id: target.id, category: "raid", reason: "raided the trade channel", scope: "network", severity: "critical" };
  await show("file blacklist-user", async () => {
    filed = await world.post("/workflows/blacklist-user", body, { actor: mod });
  });
  out.push(JSON.stringify(filed.body));
  await show("file idem", async () => {
    await world.post(
      "/workflows/blacklist-user",
      { ...body, user_id: world.member().id },
      { actor: mod, headers: { "idempotency-key": "abcdefgh2" } },
    );
  });
  let d: any;
  await show("first approval", async () => {
    d = await world.post(
      `/workflows/blacklist-user/${filed.body.id}/decision`,
      { decision: "approve", reason: "It is so." },
      { actor: senior },
    );
  });
  out.push(JSON.stringify(d.body));
  await show("final approval", async () => {
    d = await world.post(
      `/workflows/blacklist-user/${filed.body.id}/decision`,
      { decision: "approve", reason: "It is so." },
      { actor: admin },
    );
  });
  out.push(JSON.stringify(d.body));
  let pun: any;
  await show("file punishment", async () => {
    pun = await world.post(
      "/workflows/punishment",
      { user_id: world.member().id, action: "strike", points: 1, reason: "rude in chat always", discord: { action: "ban" } },
      { actor: mod },
    );
  });
  out.push(JSON.stringify(pun.body));
  await show("approve punishment", async () => {
    d = await world.post(`/workflows/punishment/${pun.body.id}/decision`, { decision: "approve", reason: "It is so." }, { actor: admin });
  });
  out.push(JSON.stringify(d.body));
  for (let i = 0; i < 5; i++) await world.post("/workflows/blacklist-user", { ...body, user_id: world.member().id }, { actor: mod });
  await show("GET /workflows", () => world.get(`/workflows?limit=50`, { actor: admin }));
  writeFileSync(`/tmp/st/${inject("dialect")}.txt`, out.join("\n"));
});
