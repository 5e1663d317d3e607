import { beforeAll, describe, expect, test } from "vitest";
import { presentAuditEntry } from "../../src/features/audit/audit.policy.ts";
import { AuditView } from "../../src/features/audit/audit.schema.ts";
import { AuthorizationView } from "../../src/features/authorization/authorization.schema.ts";
import { BlacklistView } from "../../src/features/blacklist/blacklist.schema.ts";
import { MatchView, UserServerView } from "../../src/features/intelligence/intelligence.schema.ts";
import { StepView } from "../../src/features/workflows/history/history.schema.ts";
import { CreationAnswer, WorkflowView } from "../../src/features/workflows/requests/workflows.schema.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { authorize, shareWorld } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import type { Answer, AskOptions, Level, World } from "../support/world.ts";

const shared = shareWorld();

const levels = ["viewer", "moderator", "senior", "admin", "owner"] as const satisfies readonly Level[];
/** The admin without a permission each; what they lost is told by name. */
const denials = {
  confidential: ["blacklist.read_confidential"],
  records: ["blacklist.read"],
  deciding: ["workflows.recruitment.decide", "workflows.blacklist-server.decide"],
};

type Body = Answer["body"];

interface Resource {
  /** What the answer is one of, by the schema of the document. */
  schema: { shape: Record<string, unknown> };
  ask(world: World, options: AskOptions): Promise<Answer>;
  pick(body: Body): Body;
  /** The scope that opens the door to a key. */
  scope: string;
  /** Fields a viewer of each kind does not see; null: the door stays shut. A key acts for nobody and holds `scope` alone. */
  hidden: Record<Exclude<Level, "admin" | "owner"> | "key", readonly string[] | null>;
  /** What moderators do not see besides, unless they filed it. */
  besidesAuthor?: readonly string[];
  /** The same for admins who lost a permission. */
  lost: Partial<Record<keyof typeof denials, readonly string[] | null>>;
  /** What is said instead to whoever may not read records. */
  withoutRecords?(view: Body): Body;
}

const confidential = ["exempt_user_ids", "reason_internal"];
const forDeciders = ["approvals.votes[].note", "decision.reason_internal", "extra"];
const ofRecruits = [...forDeciders, "checks", "payload.interview"];
/** What the record that a request leads to holds as confidential; its requester wrote it and reads it. */
const ofRecord = ["payload.exempt_user_ids", "payload.reason"];
const checked = new Set(["category", "expires_at", "kind", "member_policy", "recommended_action", "severity"]);
const recordFields = Object.keys(BlacklistView.shape).filter((field) => field !== "redacted");
/** Only records about people say which linked accounts they concern. */
const aboutPeople = ["include_alts"];
const unchecked = recordFields.filter((field) => !checked.has(field) && !aboutPeople.includes(field)).toSorted();
/** What the register and the blacklist say of a server. */
const registered = ["agreements", "blacklist_id", "server.status", "tags"];
const reading = { moderator: confidential, senior: [], key: confidential };

/** What somebody may do is their own; nothing at all where there is nothing for them. */
const withoutActions = (view: Body): Body => (view === undefined ? null : { ...view, allowed_actions: [] });

/** What every kind of viewer sees of everything there is, written down beside the tables of the rooms. */
const resources: Record<string, Resource> = {
  "a blacklist record": {
    schema: BlacklistView,
    ask: (world, options) => world.get("/blacklist/BL-000001", options),
    pick: (body) => body.data,
    scope: "blacklist.read",
    hidden: { viewer: null, ...reading },
    lost: { confidential, records: null },
  },
  "a record of the list": {
    schema: BlacklistView,
    ask: (world, options) => world.get(`/blacklist?subject=${scene().quarry}`, options),
    pick: (body) => body.data[0],
    scope: "blacklist.read",
    hidden: { viewer: null, ...reading },
    lost: { confidential, records: null },
  },
  "an earlier version of a record": {
    schema: BlacklistView,
    ask: (world, options) => world.get("/blacklist/BL-000001/history", options),
    pick: (body) => body.data.at(-1).record,
    scope: "blacklist.read",
    hidden: { viewer: null, ...reading },
    lost: { confidential, records: null },
  },
  "a record of a bulk check": {
    schema: BlacklistView,
    ask: (world, options) => world.post("/blacklist/check", { server_ids: [scene().quarry] }, options),
    pick: (body) => body.data.servers[0].records[0],
    scope: "blacklist.check",
    hidden: { viewer: unchecked, moderator: confidential, senior: [], key: unchecked },
    lost: { confidential, records: unchecked },
  },
  "a recruitment request": {
    schema: WorkflowView,
    ask: (world, options) => world.get("/workflows/recruitment/REC-REQ-000001", options),
    pick: (body) => withoutActions(body.data),
    scope: "workflows.read",
    hidden: { viewer: null, moderator: ofRecruits, senior: [], key: [...ofRecruits, "effects[].target"] },
    lost: { deciding: ofRecruits, records: ["effects[].target"] },
  },
  "a step of a request": {
    schema: StepView,
    ask: (world, options) => world.get("/workflows/recruitment/REC-REQ-000001/history", options),
    // The key it came through is for staff other than its requester.
    pick: ({ data }) => Object.fromEntries(Object.entries(data.at(-1)).filter(([name]) => name !== "client")),
    scope: "workflows.read",
    hidden: { viewer: null, moderator: ["note_internal"], senior: [], key: ["note_internal"] },
    lost: { deciding: ["note_internal"] },
  },
  "a request that led to a record": {
    schema: WorkflowView,
    ask: (world, options) => world.get("/workflows/blacklist-server/BLS-REQ-000001", options),
    pick: (body) => withoutActions(body.data),
    scope: "workflows.read",
    hidden: {
      viewer: null,
      moderator: forDeciders,
      senior: forDeciders,
      key: ["approvals.votes[].note", "decision.reason_internal", "effects[].target", "extra", ...ofRecord],
    },
    besidesAuthor: ofRecord,
    lost: { records: ["effects[].target"], deciding: forDeciders, confidential: ofRecord },
  },
  "a request of the list": {
    schema: WorkflowView,
    ask: (world, options) => world.get("/workflows?type=blacklist-server", options),
    pick: (body) => withoutActions(body.data[0]),
    scope: "workflows.read",
    hidden: {
      viewer: null,
      moderator: forDeciders,
      senior: forDeciders,
      key: ["approvals.votes[].note", "decision.reason_internal", "effects[].target", "extra", ...ofRecord],
    },
    besidesAuthor: ofRecord,
    lost: { records: ["effects[].target"], deciding: forDeciders, confidential: ofRecord },
  },
  "a match": {
    schema: MatchView,
    ask: (world, options) => world.get(`/users/${scene().person.id}/matches?kind=server_blacklist`, options),
    pick: (body) => body.data[0],
    scope: "users.matches.read",
    hidden: { viewer: null, moderator: [], senior: [], key: ["record_ref"] },
    lost: { records: ["record_ref"] },
  },
  "a server of a person's list": {
    schema: UserServerView,
    ask: (world, options) => world.get(`/users/${scene().person.id}/servers`, options),
    pick: (body) => body.data.find((entry: Body) => entry.server.id === scene().quarry),
    scope: "users.servers.read",
    hidden: { viewer: null, moderator: [], senior: [], key: registered },
    lost: { records: ["blacklist_id"] },
    withoutRecords: (view) => ({ ...view, server: { ...view.server, status: "known" } }),
  },
  "a server of the list that is not blacklisted": {
    schema: UserServerView,
    ask: (world, options) => world.get(`/users/${scene().person.id}/servers`, options),
    pick: (body) => body.data.find((entry: Body) => entry.server.id !== scene().quarry),
    scope: "users.servers.read",
    hidden: { viewer: null, moderator: [], senior: [], key: registered },
    lost: { records: ["blacklist_id"] },
  },
  "an authorization status": {
    schema: AuthorizationView,
    ask: (world, options) => world.get(`/users/${scene().person.id}/authorization`, options),
    pick: (body) => body.data,
    scope: "users.authorization.read",
    hidden: { viewer: [], moderator: [], senior: [], key: [] },
    lost: {},
  },
  "an audit entry": {
    schema: AuditView,
    ask: (world, options) => world.get("/audit?action=blacklist.update", options),
    pick: (body) => body.data[0],
    scope: "audit.read",
    hidden: { viewer: null, moderator: null, senior: [], key: [] },
    lost: {},
  },
};

/** Fields that the examples have no occasion to show. */
const absent: Record<string, readonly string[]> = {
  "a blacklist record": aboutPeople,
  "a record of the list": aboutPeople,
  "an earlier version of a record": aboutPeople,
  "a record of a bulk check": aboutPeople,
  "a match": ["via_user_id"],
  "a recruitment request": ["why_not"],
  "a request that led to a record": ["checks", "why_not"],
  "a request of the list": ["checks", "why_not"],
  "a step of a request": ["client"],
  "an authorization status": ["session"],
};

interface Scene {
  staff: Record<Level, User>;
  /** A moderator who filed none of the requests. */
  other: User;
  lost: Record<keyof typeof denials, User>;
  person: User;
  quarry: string;
  /** How a record was made, by an admin who may not read all of it any more. */
  creation: { body: object; options: AskOptions; first: Answer };
}
let made: Scene | undefined;
const scene = (): Scene => {
  if (made === undefined) throw new Error("the scene is set before the tests");
  return made;
};

beforeAll(async () => {
  const { world } = shared;
  const staff = {} as Record<Level, User>;
  for (const level of levels) staff[level] = await world.staff(level);
  const lost = { confidential: await world.staff("admin"), records: await world.staff("admin"), deciding: await world.staff("admin") };
  const person = world.member("rogue");
  const quarry = world.sandbox.createGuild({ name: "Quarry", withBot: false });
  quarry.addMember(person);
  await authorize(world, person, { by: staff.moderator });
  await fileRequests(world, staff, quarry.id);
  const change = { reason_internal: "Seen twice.", exempt_user_ids: [person.id], tags: ["seen"] };
  expect((await world.patch("/blacklist/BL-000001", change, { actor: staff.owner })).status).toBe(200);

  const body = { kind: "user", subject_id: person.id, reason_internal: "For few eyes.", exempt_user_ids: [quarry.id] };
  const options = { actor: lost.confidential, headers: { "idempotency-key": "a-record-once-0001" } };
  const creation = { body, options, first: await world.post("/blacklist", body, options) };
  await denyAll(world, lost);
  made = { staff, other: await world.staff("moderator"), lost, person, quarry: quarry.id, creation };
});

/** A request of each kind that matters, decided with a word for the deciders alone. */
async function fileRequests(world: World, staff: Scene["staff"], server: string): Promise<void> {
  const common = { reason: "Three raids this month.", ticketNo: 7 };
  const listing = { server_id: server, server_name: "Quarry", category: "raiding", severity: "high", member_policy: "flag", ...common };
  const application = { user_id: world.member("recruit").id, position: "moderator", interview: { score: 80, notes: "calm" }, ...common };
  const word = { decision: "approve", reason: "Clear enough.", reason_internal: "For the deciders." };
  const decisions = [
    ["recruitment", application, [staff.owner]],
    ["blacklist-server", listing, [staff.admin, staff.owner]],
  ] as const;
  for (const [kind, body, deciders] of decisions) {
    const { reference } = (await world.post(`/workflows/${kind}`, body, { actor: staff.moderator })).body;
    for (const actor of deciders) {
      const { status } = await world.post(`/workflows/${kind}/${reference}/decision`, word, { actor });
      expect(status).toBe(200);
    }
  }
}

/** A personal entry takes a permission away; the service learns of it when it starts. */
async function denyAll(world: World, lost: Scene["lost"]): Promise<void> {
  const entry = { effect: "deny", reason: "A test", createdAt: new Date() };
  const data = Object.entries(denials).flatMap(([who, permissions]) =>
    permissions.map((permission) => ({ ...entry, permission, userId: lost[who as keyof typeof denials].id })),
  );
  await world.app.database.write(systemCall("cli", uuid7()), async (tx) => {
    await tx.db.userPermission.createMany({ data });
  });
  await world.restart();
  await world.sandbox.waitFor(() => world.app.access.of(lost.records.id).isStaff);
}

/** @returns a copy of a view without the named fields; every one of them has to be there */
function without(view: Body, names: readonly string[]): Body {
  const copy = structuredClone(view);
  for (const name of names) expect(remove([copy], name.split(".")), name).toBe(true);
  return copy;
}

function remove(parents: Body[], [name = "", ...rest]: string[]): boolean {
  const [isList, field] = [name.endsWith("[]"), name.replace("[]", "")];
  if (rest.length > 0)
    return remove(
      parents.flatMap((parent) => (isList ? parent[field] : [parent[field]])),
      rest,
    );
  return parents.length > 0 && parents.every((parent) => field in parent && delete parent[field]);
}

async function see(name: string, options: AskOptions): Promise<Body> {
  const { ask, pick } = resources[name] as Resource;
  const answer = await ask(shared.world, options);
  expect([200, 403, 404]).toContain(answer.status);
  return answer.status === 200 ? pick(answer.body) : null;
}

/** Everything there is of a resource: what an owner sees. */
const whole = (name: string): Promise<Body> => see(name, { actor: scene().staff.owner });
const names = Object.keys(resources);

describe.each(names)("%s", (name) => {
  const { schema, hidden, besidesAuthor = [], lost, scope, withoutRecords = (view: Body): Body => view } = resources[name] as Resource;

  test("is whole for an owner, and nothing is redacted", async () => {
    const expected = Object.keys(schema.shape).filter((field) => field !== "redacted" && absent[name]?.includes(field) !== true);
    expect(Object.keys(await whole(name)).toSorted()).toEqual(expected.toSorted());
  });

  test.each(levels)("shows %s staff what the table says, and never tells them what it leaves out", async (level) => {
    const fields = level === "admin" || level === "owner" ? [] : hidden[level];
    const view = await see(name, { actor: scene().staff[level] });
    expect(view).toEqual(fields === null ? null : without(await whole(name), fields));
  });

  test("is the same for the moderator who filed the requests and for another, but for what is theirs as they wrote it", async () => {
    const own = await see(name, { actor: scene().staff.moderator });
    expect(await see(name, { actor: scene().other })).toEqual(without(own, besidesAuthor));
  });

  test("shows a key that acts for nobody what its scopes say, and names the rest only with audit.see_redactions", async () => {
    const fields = hidden.key ?? [];
    const expected = without(await whole(name), fields);
    expect(await see(name, { key: await shared.world.makeKey([scope], "none") })).toEqual(expected);
    const told = await see(name, { key: await shared.world.makeKey([scope, "audit.see_redactions"], "none") });
    expect(told).toEqual(fields.length === 0 ? expected : { ...expected, redacted: fields.toSorted() });
  });

  test.each(Object.keys(denials) as (keyof typeof denials)[])("tells an admin who lost %s exactly what they miss", async (loss) => {
    const fields = lost[loss] === undefined ? [] : lost[loss];
    const view = await see(name, { actor: scene().lost[loss] });
    if (fields === null) expect(view).toBeNull();
    else {
      const shown = loss === "records" ? withoutRecords(await whole(name)) : await whole(name);
      expect(view).toEqual({ ...without(shown, fields), ...(fields.length > 0 && { redacted: fields.toSorted() }) });
    }
  });

  test("does not tell an admin what they miss through a key that may not", async () => {
    const key = await shared.world.makeKey([scope]);
    const view = await see(name, { key, actor: scene().staff.admin });
    expect(view).toEqual(without(await whole(name), hidden.key ?? []));
  });
});

describe("what is one's own", () => {
  test("servers and status are shown to their person, without what the blacklist says of a server", async () => {
    const { person } = scene();
    const server = "a server of a person's list";
    expect(await see(server, { actor: person })).toEqual(without(await whole(server), registered));
    const status = "an authorization status";
    expect(await see(status, { actor: person })).toEqual(without(await whole(status), ["last_session"]));
  });

  test("matches and records about oneself stay shut", async () => {
    const { person } = scene();
    for (const path of [`/users/${person.id}/matches`, "/blacklist/BL-000001", "/audit"])
      expect((await shared.world.get(path, { actor: person })).body.code).toBe("acting_user_not_staff");
  });
});

describe("answers to writes", () => {
  test("a repeated request gets the stored answer, cut to what its caller may see now", async () => {
    const { creation } = scene();
    const rows = await shared.world.app.database.read.blacklistRecord.count();
    const again = await shared.world.post("/blacklist", creation.body, creation.options);
    expect(creation.first.body.data).toMatchObject({ reason_internal: "For few eyes." });
    expect(again.status).toBe(201);
    expect(again.body.data).toEqual({ ...without(creation.first.body.data, confidential), redacted: confidential });
    expect(await shared.world.app.database.read.blacklistRecord.count()).toBe(rows);
  });

  test("whoever may make a record sees what they made, confidential fields excepted", async () => {
    const { world } = shared;
    const body = { kind: "user", subject_id: world.sandbox.createUser("odd").id, reason_internal: "For few eyes." };
    const answer = await world.post("/blacklist", body, { key: await world.makeKey(["blacklist.create"]), actor: scene().staff.admin });
    expect(Object.keys(answer.body.data).toSorted()).toEqual(recordFields.filter((field) => !confidential.includes(field)).toSorted());
  });

  test("the audit names confidential fields and keeps their content", async () => {
    const entry = await whole("an audit entry");
    expect(entry.after).toMatchObject({ reason_internal: "(hidden)", exempt_user_ids: "(hidden)", tags: ["seen"] });
    expect(JSON.stringify(await shared.world.get("/audit", { actor: scene().staff.owner }))).not.toContain("Seen twice.");
  });

  test("an audit entry keeps its reason and its changes from those who may not read the audit", async () => {
    const { read } = shared.world.app.database;
    const row = await read.auditEntry.findFirstOrThrow({ where: { action: "blacklist.update" } });
    const payload = await read.auditPayload.findUniqueOrThrow({ where: { seq: row.seq } });
    const system = systemCall("job", uuid7());
    const call = { ...system, client: { id: "k", name: "k", allows: (permission: string) => permission !== "audit.read" } };
    const details = ["after", "before", "reason"];
    const full = presentAuditEntry(system, row, payload);
    expect(presentAuditEntry(call, row, payload)).toEqual({ ...without(full, details), redacted: details });
    expect(presentAuditEntry(call, row, undefined)).toEqual(without(full, details));
  });

  test("a decision names the record it made to those who may read records", async () => {
    const { world } = shared;
    const { staff, lost } = scene();
    const scope = { scope: "servers", server_ids: [world.guild.id] };
    const approve = async (actor: User) => {
      const subject = world.sandbox.createUser("late");
      const body = { user_id: subject.id, category: "raid", severity: "high", reason: "Led the raid of last night.", ...scope };
      const { reference } = (await world.post("/workflows/blacklist-user", body, { actor: staff.moderator })).body;
      return (await world.post(`/workflows/blacklist-user/${reference}/decision`, { decision: "approve" }, { actor })).body;
    };
    const full = await approve(staff.senior);
    expect(Object.keys(full).toSorted()).toEqual(["approvals", "effects", "final", "id", "reference", "revision", "status", "success"]);
    expect(full.effects.map((effect: Body) => effect.target?.kind ?? null)).toEqual(["blacklist", "case", null, null, null, null]);
    const told = await approve(lost.records);
    expect(told).toMatchObject({ final: true, redacted: ["effects[].target"] });
    for (const effect of told.effects)
      expect(Object.keys(effect).toSorted()).toEqual(["attempts", "detail", "due_at", "key", "last_error", "status"]);
  });

  test("a filing names other open requests to those who read requests, and says so to those who may know", async () => {
    const { world } = shared;
    const { staff } = scene();
    const file = async (scopes: string[]) => {
      const subject = { kind: "user", id: staff.senior.id };
      const filing = { subject, allegation: `Reported ${scopes.length.toString()} times by now.`, category: "other" };
      const answer = await world.post("/workflows/investigation", filing, { key: await world.makeKey(scopes), actor: staff.admin });
      expect(answer.status).toBe(201);
      await world.app.database.write(systemCall("cli", uuid7()), async (tx) => {
        await tx.db.workflowRequest.update({ where: { id: answer.body.id }, data: { status: "withdrawn" } });
      });
      return answer.body;
    };
    const shape = Object.keys(CreationAnswer.shape);
    const scope = "workflows.investigation.create";
    expect(Object.keys(await file([scope, "workflows.read"])).toSorted()).toEqual(
      shape.filter((field) => field !== "redacted" && field !== "joined").toSorted(),
    );
    expect(await file([scope])).not.toHaveProperty("duplicates");
    const told = await file([scope, "audit.see_redactions"]);
    expect(told).not.toHaveProperty("duplicates");
    expect(told.redacted).toEqual(["duplicates"]);
  });
});

test("what is hidden from a caller is not found by searching for it either", async () => {
  const { staff, lost } = scene();
  const found = async (path: string, actor: User) => (await shared.world.get(path, { actor })).body.data.length;
  expect(await found("/blacklist?q=Seen%20twice", staff.owner)).toBe(1);
  for (const actor of [staff.moderator, lost.confidential]) expect(await found("/blacklist?q=Seen%20twice", actor)).toBe(0);
  for (const secret of ["For%20the%20deciders", "calm", "ticketNo"])
    expect(await found(`/workflows?q=${secret}`, staff.owner), secret).toBe(0);
});
