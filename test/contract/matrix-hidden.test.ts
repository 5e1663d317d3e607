// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import type { AskOptions } from "../support/world.ts";
import { documentedCodes, documentedRoutes, filing } from "./document.ts";
import { codesIn, tableUnder } from "./policy.ts";
import { shareWorld } from "./world.ts";

const shared = shareWorld({ env: { CONFIRM_IN_DISCORD: "permissions" } });

/** A record that is there, a key of the same length that leads nowhere, and who may look at it. */
interface Hidden {
  /** Those who may pass the door; the record is not theirs to see. */
  callers: Record<string, AskOptions>;
  /** Somebody to whom it is there. */
  witness: AskOptions;
  ids: { real: string; missing: string }[];
  /** What further parameters of the path stand for. */
  rest?: Record<string, string>;
  body?: unknown;
}

/** What is done to cases, with a body that fits. */
const caseWork: Record<string, object | undefined> = {
  "GET /cases/{id}": undefined,
  "PATCH /cases/{id}": { priority: "low" },
  "DELETE /cases/{id}": { reason: "Opened by mistake." },
  "POST /cases/{id}/restore": undefined,
  "POST /cases/{id}/close": { outcome: "resolved" },
  "POST /cases/{id}/reopen": { reason: "A new witness." },
  "GET /cases/{id}/timeline": undefined,
  "POST /cases/{id}/links": { rel: "related", reference: "CASE-999999" },
  "DELETE /cases/{id}/links/{link_id}": undefined,
  "GET /cases/{id}/notes": undefined,
  "POST /cases/{id}/notes": { body: "Hello." },
  "PATCH /cases/{id}/notes/{note_id}": { body: "Hello again." },
  "GET /cases/{id}/notes/{note_id}/history": undefined,
  "GET /cases/{id}/actions": undefined,
  "POST /cases/{id}/actions": { kind: "warning", points: 0, reason: "Spoke about it again." },
  "POST /cases/{id}/actions/{action_id}/void": { reason: "Recorded by mistake." },
  "GET /cases/{id}/evidence": undefined,
  "POST /cases/{id}/evidence": { kind: "text", note: "Seen on the second camera." },
};

/** Routes whose records are hidden from some who pass the door, each with such a record. */
const scenes: Record<string, () => Promise<Hidden>> = {
  "GET /workflows/{type}/{id}": () => confidentialRequest(),
  "POST /workflows/{type}/{website_id}/decision": async () => ({
    ...(await confidentialRequest()),
    body: { decision: "deny", reason: "There is not enough to go on." },
  }),
  ...Object.fromEntries(
    Object.entries(caseWork).map(([route, body]) => [
      route,
      async () => ({ ...(await confidentialCase(route)), ...(body !== undefined && { body }) }),
    ]),
  ),
  "GET /workflows/{type}/{website_id}/evidence": () => confidentialRequest(),
  "POST /workflows/{type}/{website_id}/evidence": async () => ({
    ...(await confidentialRequest()),
    body: { kind: "text", note: "Seen on the second camera." },
  }),
  "PATCH /workflows/{type}/{id}": async () => ({
    ...(await confidentialRequest()),
    body: { allegation: "Shared more than was first thought." },
  }),
  "GET /workflows/{type}/{id}/history": () => confidentialRequest(),
  "POST /workflows/{type}/{id}/look": () => confidentialRequest(),
  "POST /workflows/{type}/{id}/undo": async () => ({ ...(await confidentialRequest()), body: {} }),
  "GET /workflows/{type}/{id}/comments": () => confidentialRequest(),
  "POST /workflows/{type}/{id}/comments": async () => ({ ...(await confidentialRequest()), body: { body: "Between us." } }),
  "PATCH /workflows/{type}/{id}/comments/{comment_id}": async () => {
    const scene = await confidentialRequest();
    const made = await shared.world.post(
      `/workflows/investigation/${scene.ids[0]?.real ?? ""}/comments`,
      { body: "Between us." },
      scene.witness,
    );
    return { ...scene, body: { body: "Between the two of us." }, rest: { comment_id: made.body.data.id } };
  },
  "POST /workflows/{type}/{website_id}/effects/{place}/retry": async () => {
    const scene = await confidentialRequest();
    const path = `/workflows/investigation/${scene.ids[0]?.real ?? ""}/decision`;
    const approved = await shared.world.post(path, { decision: "approve" }, { actor: await shared.world.staff("owner") });
    expect(approved.status, JSON.stringify(approved.body)).toBe(200);
    return { ...scene, rest: { place: "1" } };
  },
  "GET /workflows/drafts/{id}": () => suggestedByCase(),
  "DELETE /workflows/drafts/{id}": async () => ({ ...(await suggestedByCase()), body: { reason: "Talked about it." } }),
  "POST /workflows/drafts/{id}/file": async () => ({ ...(await suggestedByCase()), body: {} }),
  "GET /evidence/{id}": () => evidenceOfCase(),
  "GET /evidence/{id}/files/{position}": () => evidenceOfCase(),
  "POST /evidence/{id}/redact": async () => ({ ...(await evidenceOfCase()), body: { reason: "It shows a bystander." } }),
  "GET /confirmations/{id}": () => heldChange(),
  "POST /confirmations/{id}/confirm": () => heldChange(),
  "POST /confirmations/{id}/decline": async () => ({ ...(await heldChange()), body: { reason: "Let us talk about it first." } }),
};

const seesConfidential = "cases.confidential";

/** A confidential investigation about an admin, with another admin kept out of it. */
async function confidentialRequest(): Promise<Hidden> {
  const { world } = shared;
  const [requester, colleague] = [await world.staff("senior"), await world.staff("senior")];
  const [subject, partial, owner] = [await world.staff("admin"), await world.staff("admin"), await world.staff("owner")];
  const about = { subject: { kind: "user", id: subject.id }, confidential: true, conflict_user_ids: [partial.id] };
  const { status, body } = await world.post("/workflows/investigation", { ...filing("investigation"), ...about }, { actor: requester });
  expect(status, JSON.stringify(body)).toBe(201);
  const reader = await world.makeKey(["workflows.*", "evidence.*"]);
  return {
    callers: {
      "a senior who is not on the team": { actor: colleague },
      "the admin it is about": { actor: subject },
      "an admin who is kept out": { actor: partial },
      [`an owner with a key without ${seesConfidential}`]: { actor: owner, key: reader },
    },
    witness: { actor: requester },
    ids: [
      { real: body.id, missing: withOtherEnd(body.id) },
      { real: body.reference, missing: body.reference.replace("REQ-0", "REQ-9") },
    ],
  };
}

/** A confidential case about an owner, with a note, an action and a link. */
async function confidentialCase(route: string): Promise<Hidden> {
  const { world } = shared;
  const [lead, subject, owner] = [await world.staff("owner"), await world.staff("owner"), await world.staff("owner")];
  const open = async (more: object) => {
    const about = { title: "A quarrel", subjects: [{ kind: "user", id: subject.id }], ...more };
    const { status, body } = await world.post("/cases", about, { actor: lead });
    expect(status, JSON.stringify(body)).toBe(201);
    return body.data;
  };
  const [plain, made] = [await open({}), await open({ confidential: true })];
  const add = async (what: string, body: object): Promise<string> =>
    (await world.post(`/cases/${made.id}/${what}`, body, { actor: lead })).body.data.id;
  const rest = {
    note_id: await add("notes", { body: "Between us." }),
    action_id: await add("actions", { kind: "warning", points: 1, reason: "Spoke about it again." }),
    link_id: await add("links", { rel: "related", reference: plain.number }),
  };
  if (route.endsWith("/restore")) await world.delete(`/cases/${made.id}`, { reason: "Opened by mistake." }, { actor: lead });
  const verbs = ["read", "read_all", "update", "note", "close", "reopen", "delete"].map((verb) => `cases.${verb}`);
  const isForOwners = /^DELETE \/cases\/\{id\}$|\/restore$/.test(route);
  return {
    callers: {
      ...(!isForOwners && { "a senior who is not in the team": { actor: await world.staff("senior") } }),
      "the owner it is about": { actor: subject },
      [`an owner with a key without ${seesConfidential}`]: { actor: owner, key: await world.makeKey([...verbs, "evidence.*"]) },
    },
    witness: { actor: lead },
    ids: [
      { real: made.id, missing: withOtherEnd(made.id) },
      { real: made.number, missing: made.number.replace("CASE-90", "CASE-99") },
    ],
    rest,
  };
}

/** A request that the points of a confidential case suggest. */
async function suggestedByCase(): Promise<Hidden> {
  const { world } = shared;
  const { callers, witness, ids } = await confidentialCase("");
  const strikes = { kind: "strike", points: 5, reason: "Insulted five newcomers." };
  expect((await world.post(`/cases/${ids[0]?.real ?? ""}/actions`, strikes, witness)).status).toBe(201);
  const drafts = (await world.get("/workflows/drafts?limit=200", witness)).body.data as { id: string; cause_reference: string }[];
  const id = drafts.find((draft) => draft.cause_reference === ids[1]?.real)?.id ?? "";
  const key = await world.makeKey(["workflows.*", "cases.read"]);
  return {
    callers: Object.fromEntries(
      Object.entries(callers).map(([who, caller]) => [who, caller.key === undefined ? caller : { ...caller, key }]),
    ),
    witness,
    ids: [{ real: id, missing: withOtherEnd(id) }],
  };
}

/** A file that is kept on a confidential case. */
async function evidenceOfCase(): Promise<Hidden> {
  const { world } = shared;
  const { callers, witness, ids } = await confidentialCase("");
  const form = '--XX\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nseen\r\n--XX--\r\n';
  const headers = { "content-type": "multipart/form-data; boundary=XX" };
  const { status, body } = await world.post(`/cases/${ids[0]?.real ?? ""}/evidence`, form, { ...witness, headers });
  expect(status, JSON.stringify(body)).toBe(201);
  // Redacting is for admins, so that the door stops a senior before.
  const { "a senior who is not in the team": _senior, ...rest } = callers;
  return { callers: rest, witness, ids: [{ real: body.data.id, missing: withOtherEnd(body.data.id) }], rest: { position: "0" } };
}

/** A change of what somebody holds that waits for the admin who asked for it. */
async function heldChange(): Promise<Hidden> {
  const { world } = shared;
  const [requester, subject, owner] = [await world.staff("admin"), await world.staff("viewer"), await world.staff("owner")];
  const overrides = [{ key: "staff.read", effect: "deny", reason: "Until this is cleared up." }];
  const { status, body } = await world.patch(`/permissions/users/${subject.id}`, { overrides }, { actor: requester });
  expect(status, JSON.stringify(body)).toBe(202);
  const { id, code } = body.data;
  return {
    callers: {
      "a moderator": { actor: await world.staff("moderator") },
      "the viewer it is about": { actor: subject },
      "an owner with a key without audit.read": { actor: owner, key: await world.makeKey(["permissions.*"]) },
    },
    witness: { actor: requester },
    ids: [
      { real: id, missing: withOtherEnd(id) },
      { real: code, missing: withOtherEnd(code) },
    ],
  };
}

/** A key of the same length, that nothing has. */
const withOtherEnd = (id: string): string => id.slice(0, -1) + (id.endsWith("7") ? "8" : "7");

/** Everything an answer says, but for the time and what is left of the limit. */
async function whole(method: string, path: string, { actor, key }: AskOptions, body: unknown) {
  const { world } = shared;
  const id = typeof actor === "object" ? actor.id : actor;
  const response = await fetch(world.url + path, {
    method,
    headers: {
      authorization: `Bearer ${key ?? world.key}`,
      "x-request-id": "one-and-the-same",
      ...(id !== undefined && { "x-acting-user": id }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const headers = [...response.headers].filter(([name]) => name !== "date" && name !== "ratelimit");
  return { status: response.status, headers, text: await response.text() };
}

describe("a record that is hidden from a caller answers byte for byte as one that is missing", () => {
  test("the page says of every route with records whom they are hidden from", () => {
    const withRecords = documentedRoutes.filter((route) => route.path.includes("{") && documentedCodes(route).includes("record_not_found"));
    const told = tableUnder("Records").map(([route = "", from = ""]) => ({ route: codesIn(route)[0] ?? "", isHidden: from !== "nobody" }));
    expect(told.map(({ route }) => route).toSorted()).toEqual(withRecords.map(({ method, path }) => `${method} ${path}`).toSorted());
    expect(told.flatMap(({ route, isHidden }) => (isHidden ? [route] : [])).toSorted()).toEqual(Object.keys(scenes).toSorted());
  });

  test.each(Object.entries(scenes))("%s", async (route, setScene) => {
    const [method = "", path = ""] = route.split(" ");
    const { callers, witness, ids, body, rest = {} } = await setScene();
    const at = (id: string): string =>
      path
        .replace("{type}", "investigation")
        .replace(/\{\w+\}/, id)
        .replaceAll(/\{(\w+)\}/g, (_whole, name: string) => rest[name] ?? "");
    for (const [who, caller] of Object.entries(callers))
      for (const { real, missing } of ids) {
        const hidden = await whole(method, at(real), caller, body);
        const none = await whole(method, at(missing), caller, body);
        expect({ who, ...hidden, text: hidden.text.replaceAll(real, missing) }).toEqual({ who, ...none });
        expect(JSON.parse(none.text)).toMatchObject({ status: 404, code: "record_not_found" });
      }
    // Once is enough: a witness may end what they see.
    expect((await whole(method, at(ids[0]?.real ?? ""), witness, body)).text).not.toContain("record_not_found");
  });

  test("a list neither shows nor counts it", async () => {
    const { world } = shared;
    const [senior, subject] = [await world.staff("senior"), await world.staff("viewer")];
    const list = async () => (await world.get(`/workflows?count=true&subject=${subject.id}`, { actor: senior })).body;
    const { data, page } = await list();
    const about = { subject: { kind: "user", id: subject.id }, confidential: true };
    const filed = { ...filing("investigation"), ...about };
    expect((await world.post("/workflows/investigation", filed, { actor: await world.staff("viewer") })).status).toBe(201);
    expect(await list()).toMatchObject({ data, page });
    expect(page.total).toBe(0);
  });
});

test("the audit says nothing about a request to those who may not know of it, whatever they ask for", async () => {
  const { world } = shared;
  const { callers, witness, ids } = await confidentialRequest();
  const subject = callers["the admin it is about"]?.actor;
  const subjectId = typeof subject === "object" ? subject.id : "";
  const queries = [...ids.map(({ real }) => `target=${real}`), `subject=${subjectId}`, "action_prefix=workflow."];
  const told = async (options: AskOptions): Promise<number[]> => {
    const totals = [];
    for (const query of queries) {
      const { body } = await world.get(`/audit?count=true&limit=200&${query}`, options);
      const about = body.data.filter((entry: any) => ids.some(({ real }) => JSON.stringify(entry).includes(real)));
      if (about.length > 0) expect(body.page.total).toBeGreaterThanOrEqual(about.length);
      totals.push(about.length);
    }
    return totals;
  };
  const auditors = Object.values(callers).map(({ actor, key }) => ({ actor, ...(key !== undefined && { key }) }) as AskOptions);
  const wide = await world.makeKey(["audit.read", "workflows.*"]);
  for (const auditor of auditors) expect(await told(auditor.key === undefined ? auditor : { ...auditor, key: wide })).toEqual([0, 0, 0, 0]);
  expect(await told(witness)).toEqual([1, 1, 1, 1]);
});
