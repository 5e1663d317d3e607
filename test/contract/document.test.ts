// @module-tag postgres
// @module-tag slow
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test, vi } from "vitest";
import { actionsOf, settled } from "../features/native-actions-ground.ts";
import { failAction, failedId, holdAction } from "../features/stances-community.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { Answer, AskOptions } from "../support/world.ts";
import { document, documentedRoutes, filing, freshExample, freshId, resolved, type Schema } from "./document.ts";
import { judgeOf } from "./judge.ts";
import { inTurn } from "../support/size.ts";
import { createPersonnel } from "./personnel.ts";
import { authorize, shareWorld, until } from "./world.ts";

const shared = shareWorld({ env: { SECOND_PERSON_FOR_DANGER: "true" } });
const operations = documentedRoutes.map((route) => ({ ...route, name: `${route.method} ${route.path}` }));

function everyObject(node: unknown, path = "#"): { path: string; node: Schema }[] {
  if (typeof node !== "object" || node === null) return [];
  const inner = Object.entries(node).flatMap(([key, value]) => everyObject(value, `${path}/${key}`));
  return [{ path, node }, ...inner];
}

const resolve = (reference: string): unknown =>
  reference
    .replace("#/", "")
    .split("/")
    .reduce<unknown>((node, step) => (node as Schema | undefined)?.[step], document);

describe("the document", () => {
  test("is served as it is made", async () => {
    const { status, body } = await shared.world.get("/openapi.json", { key: null });
    expect(status).toBe(200);
    expect(body.openapi).toBe("3.1.0");
    expect(body).toEqual({ ...document, servers: body.servers });
  });

  test("has unique operation ids, and every reference resolves", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.length).toBeGreaterThan(40);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    const references = everyObject(document).flatMap(({ node }) => (typeof node["$ref"] === "string" ? [node["$ref"]] : []));
    expect(references.length).toBeGreaterThan(200);
    expect(references.filter((reference) => resolve(reference) === undefined)).toEqual([]);
  });

  test("names the address the service is reached at", async () => {
    const { body } = await shared.world.get("/openapi.json", { key: null });
    expect(body.servers).toEqual([{ url: shared.world.app.address() }]);
  });

  test("comes compressed to those who take that, and is not sent again to those who have it", async () => {
    const ask = (headers: Record<string, string>) => fetch(`${shared.world.app.address()}/openapi.json`, { headers });
    const plain = await ask({ "accept-encoding": "identity" });
    const zipped = await ask({ "accept-encoding": "br, gzip" });
    expect([plain.headers.get("content-encoding"), zipped.headers.get("content-encoding")]).toEqual([null, "gzip"]);
    expect(Number(zipped.headers.get("content-length"))).toBeLessThan(Number(plain.headers.get("content-length")) / 5);
    expect(await zipped.json()).toEqual(await plain.json());
    const etag = zipped.headers.get("etag") ?? "";
    expect([plain.headers.get("etag"), zipped.headers.get("vary")]).toEqual([etag, "Accept-Encoding"]);
    expect((await ask({ "if-none-match": etag })).status).toBe(304);
    const refused = await ask({ "accept-encoding": "gzip;q=0" });
    expect(refused.headers.get("content-encoding")).toBeNull();
  });

  test("has no address that two operations of one method would take", () => {
    const patternsOf = ({ path, operation }: (typeof operations)[number]) =>
      path.split("/").map((step) => {
        const parameter = operation.parameters?.find(({ name, in: where }) => where === "path" && step === `{${name ?? ""}}`);
        return parameter === undefined ? step : new RegExp(String(resolved(parameter.schema ?? {})["pattern"] ?? ""));
      });
    const meet = (one: string | RegExp, other: string | RegExp): boolean => {
      if (typeof one === "string") return typeof other === "string" ? one === other : other.test(one);
      return typeof other === "string" ? one.test(other) : true;
    };
    const takeTheSame = operations.flatMap((one, index) =>
      operations.slice(index + 1).flatMap((other) => {
        const [left, right] = [patternsOf(one), patternsOf(other)];
        if (one.method !== other.method || left.length !== right.length) return [];
        // A fixed path goes before one with parameters: what is ambiguous leaves each of two fixed where the other is not.
        const isBefore = (a: typeof left, b: typeof left) => a.every((step, at) => typeof step === "string" || typeof b[at] !== "string");
        const isTaken = left.every((step, at) => meet(step, right[at] ?? ""));
        return isTaken && !isBefore(left, right) && !isBefore(right, left) ? [`${one.name} and ${other.name}`] : [];
      }),
    );
    expect(takeTheSame).toEqual([]);
  });

  test("uses every schema it defines", () => {
    const text = JSON.stringify(document);
    expect(Object.keys(document.components.schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`))).toEqual([]);
  });

  test("has no schema that contradicts itself: a field that may be null can be null", () => {
    const both = everyObject(document).filter(({ node }) =>
      ((node["allOf"] ?? []) as Schema[]).some(({ type }) => Array.isArray(type) && type.includes("null")),
    );
    expect(both.map(({ path }) => path)).toEqual([]);
  });

  test("says of an object that may be left out what each of its fields has then", () => {
    const withDefault = everyObject(document).filter(
      ({ node }) => node["default"]?.constructor === Object && node["properties"] !== undefined,
    );
    const lacking = withDefault.filter(({ node }) =>
      Object.entries(node["properties"] as Schema).some(([name, field]) => "default" in field && !(name in node["default"])),
    );
    expect(withDefault.length).toBeGreaterThan(0);
    expect(lacking.map(({ path }) => path)).toEqual([]);
  });

  test("shows examples that fit their schemas, and an example for every body", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: "document", components: document.components });
    const wrong = operations.flatMap(({ name, operation }) => {
      const contents = [operation.requestBody?.content, ...Object.values(operation.responses).map(({ content }) => content)];
      return contents
        .flatMap((content) => Object.values(content ?? {}))
        .flatMap(({ schema, example }) => {
          if (example === undefined) return [];
          const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as Schema;
          const last = (local["anyOf"] as Schema[] | undefined)?.at(-1) ?? local;
          return ajv.validate(last, example) ? [] : [`${name}: ${ajv.errorsText()}`];
        });
    });
    expect(wrong).toEqual([]);
    const bare = operations.filter(
      ({ operation: { requestBody } }) => requestBody !== undefined && requestBody.content["application/json"]?.example === undefined,
    );
    expect(bare.map(({ name }) => name)).toEqual([]);
  });
});

test("every route, asked as it should be and by all who should not, answers only what its operation documents", async () => {
  const { world } = shared;
  const [owner, other, viewer] = [await world.staff("owner"), await world.staff("owner"), await world.staff("viewer")];
  const [person, bystander] = [world.member(), await world.staff("moderator")];
  await authorize(world, viewer, { by: owner });
  const record = await world.post("/blacklist", { kind: "user", subject_id: person.id }, { actor: owner });
  await world.post("/blacklist", { kind: "server", subject_id: world.guild.id }, { actor: owner });
  const ended = await world.post("/blacklist", { kind: "user", subject_id: freshId() }, { actor: owner });
  await world.delete(`/blacklist/${ended.body.data.id}?reason=A%20mistake`, undefined, { actor: owner });
  const made = await world.post("/workflows/punishment", filing("punishment"), { actor: viewer });
  expect(made.status).toBe(403);
  const request = await world.post("/workflows/poach", filing("poach"), { actor: viewer });
  // The requester of this one takes no messages, so that telling them fails.
  const deaf = await world.staff("viewer");
  world.sandbox.setDirectMessages(deaf, false);
  const untold = await world.post("/workflows/poach", filing("poach"), { actor: deaf });
  const refusal = { decision: "deny", reason: "There is not enough evidence." };
  await world.post(`/workflows/poach/${untold.body.id}/decision`, refusal, { actor: owner });
  const read = () => world.get(`/workflows/poach/${untold.body.id}`, { actor: owner });
  await until(read, ({ body }) => body.data.effects[0]?.status === "failed", 60_000);
  const [amended, said] = [await world.post("/workflows/poach", filing("poach"), { actor: viewer }), { body: "Looked at it." }];
  const comment = await world.post(`/workflows/poach/${request.body.id}/comments`, said, { actor: owner });
  await world.put(`/guilds/${world.guild.id}/direct`, { warning: { level: "moderator" } }, { actor: owner });
  const warning = { action: "warning", user_id: freshId(), reason: "Insulted two newcomers." };
  const alone = await world.post(`/guilds/${world.guild.id}/moderation`, warning, { actor: bystander });
  const grant = (key: string) => ({ overrides: [{ key, effect: "allow", reason: "on call tonight" }] });
  const hold = async (key: string): Promise<string> =>
    (await world.patch(`/permissions/users/${bystander.id}`, grant(key), { actor: other })).body.data.id;
  const basis = [{ type: "admission", note: "Said so." }];
  const link = { user_id: person.id, confidence: "probable", kind: "declared_alt", basis };
  const linked = await world.post(`/users/${viewer.id}/links`, link, { actor: owner });
  const { body: key } = await world.post("/keys", { name: "toured", scopes: ["staff.read"] }, { actor: owner });
  const form = `--XX\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nseen\r\n--XX--\r\n`;
  const multipart = { "content-type": "multipart/form-data; boundary=XX" };
  const evidence = await world.post(`/blacklist/${record.body.data.id}/evidence`, form, { actor: owner, headers: multipart });
  const openCase = async (): Promise<string> => {
    const about = { title: "A quarrel", subjects: [{ kind: "user", id: freshId() }] };
    return (await world.post("/cases", about, { actor: owner })).body.data.id;
  };
  const [, mainCase, linkedCase, endedCase, binnedCase] = [
    await openCase(),
    await openCase(),
    await openCase(),
    await openCase(),
    await openCase(),
  ];
  const caseNote = await world.post(`/cases/${mainCase}/notes`, { body: "Looked at it." }, { actor: owner });
  const toMain = { rel: "spawned", reference: "CASE-000002" };
  const caseLink = await world.post(`/cases/${linkedCase}/links`, toMain, { actor: owner });
  await world.post(`/cases/${endedCase}/close`, { outcome: "resolved" }, { actor: owner });
  await world.delete(`/cases/${binnedCase}`, { reason: "Opened by mistake." }, { actor: owner });
  await world.put("/cases/templates/viewer", { title: "A report" }, { actor: owner });
  const strike = { kind: "strike", reason: "Insulted two newcomers." };
  const action = await world.post(`/cases/${mainCase}/actions`, strike, { actor: owner });
  const suggest = async (userId: string): Promise<string> => {
    const { database, draftRecords } = world.app;
    const payload = { user_id: userId, action: "probation", reason: "3 points are in force." };
    const suggestion = { type: "punishment", payload, subject: { kind: "user", id: userId }, cause: "3 points.", openKey: userId } as const;
    return (await database.write(systemCall("job", uuid7()), (tx) => draftRecords.suggestInTx(tx, suggestion)))?.id ?? "";
  };
  const personnel = await createPersonnel(world, owner);
  const followFile = async (name: string): Promise<string> => {
    const { id } = (await world.post("/lists", { name, kind: "file" }, { actor: owner })).body.data;
    await world.put(`/lists/${id as string}/file`, { records: [{ kind: "user", subject_id: freshId(), number: "N1" }] }, { actor: owner });
    return id;
  };
  // Nobody is at the address, so what it was to be told of can be sent again.
  const hook = (await world.post("/webhooks", { name: "desk", url: "https://client.invalid/" }, { actor: owner })).body.data.id as string;
  await world.makeKey(["staff.read"]);
  const delivery = await vi.waitFor(async () => {
    const attempts = (await world.get(`/webhooks/${hook}/deliveries`, { actor: owner })).body.data;
    return (attempts[0] ?? expect.unreachable("nothing was sent")).id as string;
  }, 60_000);
  /** What `{id}` stands for; the longest beginning of a path that fits counts. */
  world.guild.timeout(person, 60, { by: owner });
  await settled(world);
  const [byHand] = await actionsOf(world, person, owner);
  const ids = Object.entries({
    "/blacklist": record.body.data.id,
    "/blacklist/{id}/purge": ended.body.data.id,
    "/keys": key.data.id,
    "/cases": mainCase,
    "/cases/{id}/links": linkedCase,
    "/cases/{id}/close": await openCase(),
    "/cases/{id}/reopen": endedCase,
    "/cases/{id}/restore": binnedCase,
    "/evidence": evidence.body.data.id,
    "/native-actions": byHand?.id ?? "",
    "/workflows/drafts": await suggest(freshId()),
    "/workflows/drafts/{id}/file": await suggest(freshId()),
    "/roster": personnel.entry,
    "/roster/audits": personnel.audit,
    "/callsigns/repair": personnel.repair,
    "/lists": await followFile("A file"),
    "/lists/{id}/entries": await followFile("Another file"),
    "/lists/{id}/refresh": (
      await world.post("/lists", { name: "An address", kind: "file", address: "https://127.0.0.1" }, { actor: owner })
    ).body.data.id,
    "/guilds/{guild_id}/list-actions": failedId,
    "/webhooks": hook,
    "/servers": (await world.post("/servers", { id: freshId() }, { actor: owner })).body.data.id,
    "/confirmations": await hold("staff.suspend"),
    "/confirmations/{id}/decline": await hold("blacklist.create"),
  }).toSorted(([a], [b]) => b.length - a.length);
  const real: Record<string, string> = {
    discord_user_id: viewer.id,
    guild_id: world.guild.id,
    key: "viewer",
    role_key: "viewer",
    code: "rate_limited",
    type: "poach",
    website_id: request.body.id,
    position: "0",
    place: "1",
    number: "N1",
    callsign: personnel.callsigns[0] ?? "",
    link_id: linked.body.data.id,
    note_id: caseNote.body.data.id,
    comment_id: comment.body.data.id,
    action_id: action.body.data.id,
    delivery,
    match_id: (await world.get(`/users/${viewer.id}/matches?kind=server_blacklist`, { actor: owner })).body.data[0].id,
  };
  const none = {
    place: "99",
    number: "none",
    callsign: "none",
    link_id: "none",
    note_id: "none",
    comment_id: "none",
    action_id: "none",
    match_id: "none",
    delivery: "none",
    discord_user_id: "1",
    guild_id: freshId(),
    key: "none",
    role_key: "none",
    id: "BL-999999",
    type: "poach",
    website_id: "none",
    code: "none",
  };
  const fill = (path: string, values: Record<string, string>) =>
    path.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
      whole === "{id}" && path.startsWith("/workflows/{type}") ? (values["website_id"] ?? "") : (values[name] ?? idOf(path)),
    );
  const idOf = (path: string): string => ids.find(([start]) => path.startsWith(start))?.[1] ?? "";
  const limited = await world.makeKey(["staff.read"]);
  const others: AskOptions[] = [{ actor: viewer }, { actor: person }, {}, { key: null }, { key: limited, actor: owner }];
  await holdAction(world, person.id);
  await failAction(world, person.id);
  await world.post(`/guilds/${world.guild.id}/exemptions`, { user_id: viewer.id, reason: "A friend of the house." }, { actor: owner });
  const seen = new Map<string, Set<number>>();
  const lasting = documentedRoutes.toSorted((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"));
  for (const [index, route] of lasting.entries()) {
    const ask = async (path: string, options: AskOptions): Promise<Answer> => {
      const example = freshExample(route);
      // The Discord roles of an example are nowhere.
      const body = example?.discord === undefined || route.method !== "PUT" ? example : { ...example, discord: [] };
      const answer = await world.request(route.method, path, body, options);
      seen.set(route.operation.operationId, (seen.get(route.operation.operationId) ?? new Set()).add(answer.status));
      return answer;
    };
    // Present staff are not redacted.
    const own: Record<string, Record<string, string>> = {
      redactUser: { discord_user_id: person.id },
      removeExemption: { discord_user_id: viewer.id },
      amendWorkflow: { website_id: amended.body.id },
      lookAtWorkflow: { type: "punishment", website_id: alone.body.id },
      undoModeration: { type: "punishment", website_id: alone.body.id },
      deleteCaseLink: { link_id: caseLink.body.data.id },
      retryWorkflowEffect: { website_id: untold.body.id },
      deleteCallsignPool: { key: "unused" },
      transferCallsign: { callsign: personnel.callsigns[1] ?? "" },
      retireCallsign: { callsign: personnel.callsigns[2] ?? "" },
      unretireCallsign: { callsign: personnel.callsigns[3] ?? "" },
    };
    const about = { ...real, ...own[route.operation.operationId] };
    for (const caller of [{ actor: owner }, ...inTurn(others, index)]) await ask(fill(route.path, about), caller);
    // The yes of a second person is their own word, not a key's.
    if (route.operation.operationId === "confirmChange") await ask(fill(route.path, about), { actor: owner, signed: true });
    await ask(fill(route.path, none), { actor: other });
    const odd: [query: string, options: AskOptions][] = [
      ["?nonsense=1&limit=0", { actor: other }],
      ["", { actor: other, headers: { accept: "image/png", "api-version": "1" } }],
      ["", { actor: other, headers: { "api-version": "99" } }],
    ];
    for (const [query, options] of inTurn(odd, index)) await ask(fill(route.path, real) + query, options);
    await ask(fill(route.path, real), { actor: "someone", headers: { "if-match": '"v999"', "if-none-match": "*" } });
  }
  for (const [id, statuses] of seen)
    expect({ id, broken: [...statuses].filter((status) => status >= 500 && status !== 501) }).toEqual({ id, broken: [] });
  const happy = new Set([...seen].filter(([, statuses]) => [200, 201, 202].some((status) => statuses.has(status))).map(([id]) => id));
  const never = documentedRoutes.map(({ operation }) => operation.operationId).filter((id) => !happy.has(id));
  expect(never.toSorted()).toEqual([]);
});

describe("the judge of all these tests", () => {
  const judge = judgeOf(document);
  const answer = (status: number, body: unknown, type = "application/json; charset=utf-8"): Answer => ({
    status,
    headers: new Headers({ "content-type": type }),
    body,
  });
  const created = { success: true, id: "x", reference: "PCH-REQ-000001", status: "pending", warnings: [], effects_preview: [] };
  const filed = { method: "POST", path: "/workflows/poach" };

  test("accepts what is documented", () => expect(judge.check(filed, answer(201, created))).toEqual([]));

  test.each([
    ["a missing field", 201, { ...created, reference: undefined }],
    ["a field nobody documents", 201, { ...created, secret: "x" }],
    ["a wrong value", 201, { ...created, status: "approved" }],
    ["a status that is not documented", 200, created],
    ["a problem as plain JSON", 403, { success: false }],
  ])("refuses %s", (_name, status, body) => {
    expect(judge.check(filed, answer(status, JSON.parse(JSON.stringify(body))))).toHaveLength(1);
  });

  test("refuses a code of another status, and a time of another form", async () => {
    const refused = await shared.world.post("/workflows/poach", {}, {});
    expect(judge.check(filed, answer(403, refused.body, "application/problem+json"))).toEqual([]);
    expect(judge.check(filed, answer(403, { ...refused.body, code: "cooldown" }, "application/problem+json"))).toHaveLength(1);
    const health = (await shared.world.get("/health")).body;
    const asked = { method: "GET", path: "/health" };
    expect(judge.check(asked, answer(200, health))).toEqual([]);
    expect(judge.check(asked, answer(200, { ...health, time: "2026-11-20T10:00:00Z" }))).toHaveLength(1);
  });
});
