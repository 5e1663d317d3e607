// @module-tag sqlite
import { expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { soonBack } from "../support/pauses.ts";
import { createWorld, type World } from "../support/world.ts";

const memberRoute = "GET /guilds/:id/members/:id";
const nothingKnown = [{ code: "unknown", source: "discord", ref: null }];

const pauses = { discord: { ...soonBack, lookUpRestMs: 20, repeatMs: 5 } };

/** Nobody can be looked up in Discord. */
function silence(world: World, status = 503) {
  return world.sandbox.faults.rest({ route: memberRoute, status, times: Infinity });
}

test("while Discord cannot be asked about somebody, nobody says that they are no member, and they get no right", async () => {
  const world = await createWorld({ pauses });
  const viewer = await staffAtConsole(world, "admin");
  const member = world.member();
  const fault = silence(world);
  const { data } = (await world.get(`/staff/${member.id}/access`)).body;
  expect(data).toMatchObject({ allowed: false, permissions: [], status: null, reasons: nothingKnown });
  expect(data).toMatchObject({ stale: true, as_of: null, max_age_seconds: 0 });
  const asked = (await world.get(`/staff/${member.id}/access?permission=cases.read`)).body.data;
  expect(asked.decisions).toMatchObject([{ allowed: false, reasons: nothingKnown }]);
  const shown = await world.slash(viewer, "staff access", { user: member });
  expect(shown).toContain("Discord could not be asked");
  expect(shown).toContain("not known");
  expect(shown).not.toContain("is not a member");
  expect(shown).not.toContain("last known state");
  const explained = await world.post("/permissions/explain", { user_id: member.id, key: "cases.read" }, { actor: viewer });
  expect(explained.body.data).toMatchObject({ allowed: false, trace: [{ step: "nothing", code: "unknown" }] });
  expect(explained.body.data.trace[0].text).toContain("Discord could not be asked");
  const effective = await world.get(`/permissions/users/${member.id}/effective`, { actor: viewer });
  expect(effective.body.data.permissions[0].reason).toMatchObject(nothingKnown[0]!);
  fault.clear();
  await expect
    .poll(async () => (await world.get(`/staff/${member.id}/access`)).body.data.reasons, { timeout: 60_000 })
    .toEqual([{ code: "not_member", source: "staff", ref: null }]);
});

test("a member is not compared with the roster while Discord cannot be asked about them", async () => {
  const world = await createWorld({ pauses });
  const admin = await staffAtConsole(world, "admin");
  const member = world.member();
  silence(world);
  const body = { discord_user_id: member.id };
  const compared = await world.post("/roster/sync-member", body, { actor: admin });
  expect([compared.status, compared.body.code]).toEqual([503, "discord_unavailable"]);
});

test("nothing is done about somebody of whom nobody knows whether they are staff", async () => {
  const world = await createWorld({ pauses });
  const owner = await staffAtConsole(world, "owner");
  const { id } = world.member();
  silence(world);
  world.guild.setAvailable(false);
  await world.sandbox.waitFor(() => world.app.guildState.freshness().stale);
  const until = new Date(Date.now() + 86_400_000).toISOString();
  const reason = "They asked for it.";
  for (const [method, path, body] of [
    ["GET", `/staff/${id}/profile`, undefined],
    ["PATCH", `/staff/${id}`, { department: "North" }],
    ["POST", `/staff/${id}/loa`, { until, reason }],
    ["POST", `/staff/${id}/suspend`, { reason }],
    ["PATCH", `/permissions/users/${id}`, { overrides: [{ key: "cases.read", effect: "deny", reason }] }],
    ["POST", `/users/${id}/redaction`, { reason }],
    ["POST", "/roster", { user_id: world.member().id, supervisor_id: id, reason }],
  ] as const) {
    const { status, body: answer } = await world.request(method, path, body, { actor: owner });
    expect([path, status, answer.code], JSON.stringify(answer)).toEqual([path, 503, "discord_unavailable"]);
  }
});

test("somebody known as an owner by name needs no look-up", async () => {
  const world = await createWorld({ pauses });
  const owner = world.member();
  const named = await createWorld({ pauses, env: { OWNER_IDS: owner.id } });
  silence(named);
  expect((await named.get(`/staff/${owner.id}/access`)).body.data).toMatchObject({ allowed: true, level: "owner" });
});

test("while every member list is known, who is not staff is told so without a look-up", async () => {
  const world = await createWorld({ pauses });
  const member = world.member();
  await world.sandbox.waitFor(() => !(world.app.access.actorOf(member.id) instanceof Promise));
  const fault = silence(world);
  const refused = await world.get("/staff", { actor: member });
  expect([refused.status, refused.body.code]).toEqual([403, "acting_user_not_staff"]);
  expect(fault.hits).toBe(0);
});

test("while no member list is known either, a call and a command of somebody unknown are refused as something to try again", async () => {
  const world = await createWorld({ pauses });
  const member = world.member();
  world.guild.setRoles(member, [world.guild.createRole("console", { permissions: ["Administrator"] })]);
  silence(world);
  world.guild.setAvailable(false);
  await world.sandbox.waitFor(() => world.app.guildState.freshness().stale);
  const refused = await world.get("/staff", { actor: member });
  expect([refused.status, refused.body.code]).toEqual([503, "discord_unavailable"]);
  expect(refused.headers.get("retry-after")).toMatch(/^[1-9]/);
  const said = await world.slash(member, "staff list");
  expect(said).toContain("discord_unavailable");
  expect(said).not.toContain("not_staff");
});
