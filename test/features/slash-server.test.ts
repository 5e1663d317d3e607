import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";

const shared = shareWorld();
const cast: { owner: User; senior: User; viewer: User; outsider: User } = {} as never;
beforeAll(async () => {
  for (const level of ["owner", "senior", "viewer"] as const) cast[level] = await staffAtConsole(shared.world, level);
  cast.outsider = shared.world.member();
  shared.world.guild.setRoles(cast.outsider, [shared.world.guild.createRole("door", { permissions: ["Administrator"] })]);
});

const ask = (user: User) => shared.world.sandbox.as(user).in(shared.world.guild);
/** The text and the embeds of the reply, in which a backslash stands once. */
const slash = async (user: User, words: string, options: Record<string, string | User>): Promise<string> =>
  (await shared.world.slash(user, `intel server ${words}`, options)).replaceAll("\\\\", "\\");
const read = async (id: string) => (await shared.world.get(`/servers/${id}`, { actor: cast.owner })).body.data;
const register = async (body: Record<string, unknown> = {}): Promise<string> => {
  const { status, body: made } = await shared.world.post("/servers", { id: freshId(), ...body }, { actor: cast.senior });
  expect(status, JSON.stringify(made)).toBe(201);
  return made.data.id as string;
};
const auditOf = (targetId: string) =>
  shared.world.app.database.read.auditEntry.findMany({
    where: { targetId, outcome: { not: "denied" } },
    orderBy: { seq: "asc" },
    select: { action: true, via: true, actorId: true },
  });

describe("registering", () => {
  test("takes everything that is told of a server, and answers with its card", async () => {
    const [id, alias, contact] = [freshId(), freshId(), freshId()];
    const given = {
      server: id,
      name: "The *Quarry*",
      status: "partner",
      owner: cast.viewer,
      contacts: `${contact} head of staff, <@${cast.viewer.id}> owner`,
      aliases: alias,
      tags: "mining, friends",
      note: "Friends since 2020.",
      invite: "https://discord.gg/quarry",
    };
    const card = await slash(cast.senior, "register", given);
    expect(card).toContain("The \\*Quarry\\* · partner");
    for (const text of [`\`${id}\``, `\`${alias}\``, `<@${contact}> head of staff`, "mining, friends"]) expect(card).toContain(text);
    expect(await read(id)).toMatchObject({
      name: "The *Quarry*",
      status: "partner",
      owner_user_id: cast.viewer.id,
      contacts: [
        { user_id: contact, role: "head of staff" },
        { user_id: cast.viewer.id, role: "owner" },
      ],
      aliases: [alias],
      tags: ["mining", "friends"],
      note: "Friends since 2020.",
      invite: { code: "quarry" },
    });
    expect(await auditOf(id)).toEqual([{ action: "server.create", via: "slash", actorId: cast.senior.id }]);
  });

  test("an id that is there, a contact without a role, and somebody who may not are refused, and nothing is written", async () => {
    const id = await register();
    const fresh = freshId();
    const before = await shared.world.app.database.read.server.count();
    expect(await slash(cast.senior, "register", { server: id })).toContain("duplicate_active_record");
    expect(await slash(cast.senior, "register", { server: fresh, contacts: freshId() })).toContain("validation_failed");
    expect(await slash(cast.viewer, "register", { server: fresh })).toContain("permission_denied");
    expect(await shared.world.app.database.read.server.count()).toBe(before);
    expect(await auditOf(fresh)).toEqual([]);
  });
});

describe("changing", () => {
  test("what is given is changed, what is to be empty is emptied, and the rest stays", async () => {
    const id = await register({ name: "Delta", tags: ["one"], note: "Old friends", invite_code: "delta" });
    await slash(cast.senior, "edit", { server: id, status: "watched", clear: "note" });
    expect(await read(id)).toMatchObject({
      name: "Delta",
      status: "watched",
      tags: ["one"],
      note: null,
      invite: { code: "delta" },
      revision: 2,
    });
    await slash(cast.senior, "edit", { server: id, clear: "tags", name: "Delta Two" });
    expect(await read(id)).toMatchObject({ name: "Delta Two", tags: [], invite: { code: "delta" } });
    await slash(cast.senior, "edit", { server: id, clear: "invite" });
    expect((await read(id)).invite).toBeNull();
    const into = await register({ name: "Epsilon" });
    const card = await slash(cast.senior, "edit", { server: id, status: "merged", "merged-into": into });
    expect(card).toContain(`\`${into}\``);
    expect(await read(id)).toMatchObject({ status: "merged", merged_into: into });
  });

  test("an old revision, an unknown server and somebody who may not are refused, and nothing changes", async () => {
    const id = await register({ name: "Sigma" });
    const run = await ask(cast.senior).runSlashCommand("intel server edit", { server: id, name: "Tau", revision: 7 });
    expect((await run.reply()).content).toContain("precondition_failed");
    expect(await slash(cast.senior, "edit", { server: freshId(), name: "Tau" })).toContain("record_not_found");
    expect(await slash(cast.viewer, "edit", { server: id, name: "Tau" })).toContain("permission_denied");
    expect(await read(id)).toMatchObject({ name: "Sigma", revision: 1 });
  });
});

describe("reading", () => {
  test("a list leads on to a server, and its card to what hangs on it", async () => {
    const name = `Lambda ${freshId()}`;
    const id = await register({ name, status: "watched" });
    const run = await ask(cast.owner).runSlashCommand("intel server list", { q: name });
    const list = await run.reply();
    expect(list.embeds[0]?.description).toContain(`**${name}** · \`${id}\` · watched`);
    const menu = list.components.flatMap(({ components = [] }) => components).find(({ type }) => type === 3);
    const card = await (await run.select(menu?.custom_id ?? "", [id])).reply();
    expect(card.embeds[0]?.title).toBe(`${name} · watched`);
    expect(card.components.flatMap(({ components = [] }) => components.map(({ label }) => label))).toEqual(["Agreements", "Incidents"]);
  });

  test("whoever may not see contacts, notes and records is shown none of them", async () => {
    const contact = freshId();
    const id = await register({ name: "Omega", note: "Be careful", contacts: [{ user_id: contact, role: "owner" }], invite_code: "omega" });
    const listed = { kind: "server", subject_id: id, category: "raiding", severity: "high" };
    expect((await shared.world.post("/blacklist", listed, { actor: cast.owner })).status).toBe(201);
    const all = await slash(cast.owner, "show", { server: id });
    for (const text of ["blacklisted", "Be careful", contact, "omega"]) expect(all).toContain(text);
    const viewer = await slash(cast.viewer, "show", { server: id });
    expect(viewer).toContain("Omega");
    for (const text of ["Be careful", contact, "`omega`", "· omega"]) expect(viewer).not.toContain(text);
    const nothing = await slash(cast.outsider, "show", { server: id });
    expect(nothing).toContain("acting_user_not_staff");
    expect(nothing).not.toContain("Omega");
    expect(await slash(cast.outsider, "show", { server: freshId() })).toBe(nothing);
  });

  test("agreements and incidents are told, and of an unknown server nothing is", async () => {
    const [one, other] = [await register(), await register()];
    const { registry, database } = shared.world.app;
    const permission = "workflows.poach.decide";
    await database.write(systemCall("job", "test"), (tx) =>
      registry.recordIncidentInTx(tx, {
        serverId: one,
        victimServerId: other,
        offenderIds: [freshId(), freshId()],
        method: "offer",
        occurredAt: new Date(Date.now() - 86_400_000),
        originReference: "PCH-REQ-000001",
        permission,
      }),
    );
    await database.write(systemCall("job", "test"), (tx) =>
      registry.createAgreementInTx(tx, {
        serverIds: [one, other],
        covers: "staff",
        coolingOffDays: 30,
        terms: "No *offers*",
        endsAt: null,
        originReference: "PCH-REQ-000002",
        permission,
      } as never),
    );
    const incidents = await slash(cast.viewer, "incidents", { server: one });
    for (const text of [`\`${one}\` → \`${other}\``, "people: 2", "offer", "PCH\\-REQ\\-000001"]) expect(incidents).toContain(text);
    expect(await slash(cast.viewer, "incidents", { server: other })).toContain("Nothing is known of this server.");
    const agreements = await slash(cast.viewer, "agreements", { server: other });
    for (const text of ["active", "staff", "30 days after leaving", "No \\*offers\\*"]) expect(agreements).toContain(text);
    for (const verb of ["agreements", "incidents"]) {
      expect(await slash(cast.viewer, verb, { server: freshId() })).toContain("record_not_found");
      expect(await slash(cast.outsider, verb, { server: one })).toContain("acting_user_not_staff");
    }
  });

  test("ids are completed from the register, by name and by id, for those who may read it", async () => {
    const name = `Pi ${freshId()}`;
    const id = await register({ name });
    const complete = (user: User, typed: string) => ask(user).autocomplete("intel server show", typed);
    expect(await complete(cast.viewer, name)).toMatchObject([{ value: id, name: `${name} · ${id} · known` }]);
    expect(await complete(cast.viewer, id)).toMatchObject([{ value: id }]);
    expect((await complete(cast.viewer, "")).length).toBeGreaterThan(0);
    expect(await complete(cast.outsider, "")).toEqual([]);
  });
});
