// @module-tag sqlite
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { Snowflake, snowflakePattern } from "../../src/kernel/fields.ts";
import { bodySchema, documentedRoutes, filing, freshExample, freshId, resolved, type DocumentedRoute, type Schema } from "./document.ts";
import { flawsOf, wrongEverywhere, wrongIds, type Flaw } from "./flaws.ts";
import { inTurn, tier } from "../support/size.ts";
import { authorize, everyRow, shareWorld } from "./world.ts";

const shared = shareWorld();
let owner: User;
const places: Record<string, string> = {
  place: "1",
  key: "moderator",
  role_key: "moderator",
  type: "punishment",
  callsign: "M-001",
  number: "BL-000001",
};
const place = (path: string): string => path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => places[placeOf(path, name)] ?? "");
/** `id` stands for another thing in some places. */
const placeOf = (path: string, name: string): string =>
  path.startsWith("/workflows/drafts/") ? "draft" : path.startsWith("/workflows/{type}/{id}") && name === "id" ? "website_id" : name;

/** Real records, so that a check that is missing would change them. */
beforeAll(async () => {
  const { world } = shared;
  owner = await world.staff("owner");
  const [requester, person] = [await world.staff("moderator"), world.member()];
  await authorize(world, person, { by: owner });
  const record = await world.post("/blacklist", { kind: "user", subject_id: person.id }, { actor: owner });
  const request = await world.post("/workflows/punishment", filing("punishment"), { actor: requester });
  const basis = [{ type: "admission", note: "Said so." }];
  const link = { user_id: requester.id, confidence: "probable", kind: "declared_alt", basis };
  const linked = await world.post(`/users/${person.id}/links`, link, { actor: owner });
  const [match] = (await world.get(`/users/${person.id}/matches`, { actor: owner })).body.data;
  const quarrel = { title: "A quarrel", subjects: [{ kind: "user", id: person.id }] };
  const opened = await world.post("/cases", quarrel, { actor: owner });
  const note = await world.post(`/cases/${opened.body.data.id}/notes`, { body: "Looked at it." }, { actor: owner });
  const strikes = { kind: "strike", points: 3, reason: "Insulted three newcomers." };
  const action = await world.post(`/cases/${opened.body.data.id}/actions`, strikes, { actor: owner });
  const [draft] = (await world.get(`/workflows/drafts?subject=${person.id}`, { actor: owner })).body.data;
  const comment = await world.post(`/workflows/punishment/${request.body.id}/comments`, { body: "Looked at it." }, { actor: owner });
  places["comment_id"] = comment.body.data.id;
  Object.assign(places, { action_id: action.body.data.id, draft: draft.id });
  places["case"] = opened.body.data.id;
  Object.assign(places, { link_id: linked.body.data.id, match_id: match.id, note_id: note.body.data.id });
  Object.assign(places, { guild_id: world.guild.id, discord_user_id: person.id, id: record.body.data.id, website_id: request.body.id });
});

const bodies = documentedRoutes.flatMap((route): [string, DocumentedRoute][] =>
  bodySchema(route) === undefined ? [] : [[`${route.method} ${route.path}`, route]],
);
/** How a body is read is the same for every route; the quick tier looks at it through some of them, and where more may be sent. */
const someBodies = bodies.filter(([name], index) => tier !== "quick" || index % 4 === 0 || name.endsWith("/import"));
const ask = ({ method, path }: DocumentedRoute, body: unknown, headers = {}) =>
  shared.world.request(method, place(path), body, { actor: owner, headers });

describe("what does not fit the documented schema is refused with a pointer, and changes nothing", () => {
  test("there are bodies to break", () => expect(bodies.length).toBeGreaterThan(15));

  test.each(bodies)("%s, one field at a time", async (_name, route) => {
    const before = await everyRow(shared.world);
    const flaws = flawsOf(route);
    expect(flaws.length).toBeGreaterThan(1);
    const answers = await Promise.all(flaws.map(async (flaw) => ({ flaw, answer: await ask(route, flaw.body) })));
    const accepted = answers.filter(({ flaw, answer }) => answer.status !== 422 || !namesField(answer.body, flaw));
    expect(accepted.map(({ flaw, answer }) => ({ flaw, status: answer.status, body: answer.body }))).toEqual([]);
    expect(await everyRow(shared.world)).toEqual(before);
  });

  test.each(bodies)("%s, every field at once", async (_name, route) => {
    const before = await everyRow(shared.world);
    const { body, pointers } = wrongEverywhere(route);
    const answer = await ask(route, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(422);
    const said: string[] = answer.body.errors.map((error: { pointer: string }) => error.pointer);
    expect(pointers.filter((pointer) => !said.some((one) => one === pointer || one.startsWith(`${pointer}/`)))).toEqual([]);
    expect(await everyRow(shared.world)).toEqual(before);
  });
});

function namesField({ errors }: { errors?: { pointer: string; in: string; code: string }[] }, { pointer, code }: Flaw): boolean {
  const named =
    errors?.filter((error) => error.in === "body" && (error.pointer === pointer || error.pointer.startsWith(`${pointer}/`))) ?? [];
  return named.length > 0 && (code === undefined || named.some((error) => error.code === code));
}

describe("what is no proper request is refused before anything happens", () => {
  const deep = (levels: number): string => `{"x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  /** More than 256 KiB, and more than the 4 MiB of an import. */
  const longFor = ({ path }: DocumentedRoute) =>
    JSON.stringify({ reason: "x".repeat((path === "/blacklist/import" || path === "/lists/{id}/file" ? 4100 : 300) * 1024) });

  test.each(someBodies)("%s: broken, too deep, too large, of another type", async (_name, route) => {
    const before = await everyRow(shared.world);
    const long = longFor(route);
    for (const [body, status, code] of [
      ['{"reason":', 400, "malformed_request"],
      [deep(17), 400, "malformed_request"],
      [deep(16), 422, "validation_failed"],
      [long, 413, "body_too_large"],
      ["[]", 422, "validation_failed"],
      ["null", 422, "validation_failed"],
      ["42", 422, "validation_failed"],
    ] as const) {
      const answer = await ask(route, body);
      expect({ body: body.slice(0, 40), ...answer.body }).toMatchObject({ status, code });
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"]) {
      expect((await ask(route, "{}", { "content-type": type })).body).toMatchObject({ status: 415, code: "unsupported_media_type" });
    }
    const headers = { authorization: `Bearer ${shared.world.key}`, "x-acting-user": owner.id, "content-type": "application/json" };
    const init = { method: route.method, headers, body: new Blob([long]).stream(), duplex: "half" } as RequestInit;
    const streamed = await fetch(shared.world.url + place(route.path), init).then(({ status }) => status);
    expect(streamed).toBe(413);
    expect(await everyRow(shared.world)).toEqual(before);
  });

  test.each(bodies)("%s: control characters and half characters in texts never break it", async (_name, route) => {
    const { properties = {} } = bodySchema(route) ?? {};
    for (const [index, name] of Object.keys(properties).entries()) {
      const odd = ["\u001b[2J and some more text", "\ud800 and some more text", "\u202e and some more text"];
      for (const text of ["a\u0000b and some more text", ...inTurn(odd, index)]) {
        const answer = await ask(route, { ...freshExample(route), [name]: text });
        expect([name, text, answer.status < 500 ? "fine" : answer.body]).toEqual([name, text, "fine"]);
        if (text.includes("\u0000")) expect([name, answer.status]).toEqual([name, 422]);
      }
    }
  });
});

describe("a Discord id has one form, wherever it is sent", () => {
  const takesIds = ({ schema = {} }: { schema?: Schema }): boolean => resolved(schema)["pattern"] === snowflakePattern;
  const asked = documentedRoutes.flatMap((route) =>
    (route.operation.parameters ?? []).filter(takesIds).map((parameter): [string, DocumentedRoute, string, string] => {
      const { name = "", in: where = "" } = parameter;
      return [`${route.method} ${route.path}: ${name} in the ${where}`, route, name, where];
    }),
  );

  test("there are paths and queries with ids", () => {
    expect(new Set(asked.map(([, , , where]) => where))).toEqual(new Set(["path", "query"]));
  });

  const texts = wrongIds.filter(({ what }) => what !== "an id as a number");
  test.each(asked.map((one, index) => [...one, inTurn(texts, index, 2)] as const))("%s", async (_name, route, name, where, wrong) => {
    const before = await everyRow(shared.world);
    for (const { value, code } of wrong) {
      const path = where === "path" ? place(route.path.replaceAll(`{${name}}`, encodeURIComponent(String(value)))) : place(route.path);
      const query = where === "query" ? `?${new URLSearchParams({ [name]: String(value) }).toString()}` : "";
      const body = bodySchema(route) === undefined ? undefined : freshExample(route);
      const answer = await shared.world.request(route.method, path + query, body, { actor: owner });
      expect([value, answer.status, answer.body.errors]).toEqual([
        value,
        422,
        expect.arrayContaining([expect.objectContaining({ pointer: `/${name}`, in: where, code })]),
      ]);
    }
    expect(await everyRow(shared.world)).toEqual(before);
  });

  test("the published pattern takes every id there can be, and nothing else", () => {
    const pattern = new RegExp(resolved({ $ref: "#/components/schemas/Snowflake" })["pattern"] as string);
    for (const id of ["10000000000000000", "80351110224678912", "9999999999999999999", "10000000000000000000", "18446744073709551615"])
      expect([id, pattern.test(id), Snowflake.safeParse(id).success]).toEqual([id, true, true]);
    fc.assert(
      fc.property(fc.bigInt({ min: 10n ** 16n, max: 2n ** 64n + 10n ** 18n }), (id) => {
        expect(pattern.test(id.toString())).toBe(id < 2n ** 64n);
        expect(Snowflake.safeParse(id.toString()).success).toBe(id < 2n ** 64n);
      }),
    );
    for (const text of ["0", "00000000000000000", "080351110224678912", "1000000000000000", "18446744073709551616", "99999999999999999999"])
      expect([text, pattern.test(text), Snowflake.safeParse(text).success]).toEqual([text, false, false]);
  });

  test("also of the acting user, and where an id is one of several things", async () => {
    const { world } = shared;
    const acting = await world.get("/staff", { actor: "080351110224678912" });
    expect(acting.body.errors).toMatchObject([{ pointer: "/X-Acting-User", in: "header", code: "invalid_snowflake" }]);
    expect((await world.get("/roster/080351110224678912", { actor: owner })).body.errors).toMatchObject([{ pointer: "/id", in: "path" }]);
    const url = "https://discord.com/channels/80351110224678912/080351110224678912/80351110224678912";
    const linked = await world.post(`/cases/${places["case"] ?? ""}/evidence`, { kind: "message", url }, { actor: owner });
    expect(linked.body.errors[0]).toMatchObject({ pointer: "/url", in: "body" });
  });

  test("in a file that is imported", async () => {
    const csv = "severity,kind,subject_id,category\nlow,user,080351110224678912,raid\nlow,user,18446744073709551616,raid";
    const headers = { "content-type": "text/csv" };
    const { body } = await shared.world.post("/blacklist/import", csv, { actor: owner, headers });
    expect(body.data.counts).toMatchObject({ created: 0, refused: 2 });
    for (const { errors } of body.data.results) expect(errors).toMatchObject([{ pointer: "/subject_id", code: "invalid_snowflake" }]);
  });
});

describe("ids that stand twice", () => {
  test("are refused where they would mean something else than once", async () => {
    const { world } = shared;
    const id = freshId();
    const twice = { ...filing("alt-request"), user_ids: [id, id] };
    expect((await world.post("/workflows/alt-request", twice, { actor: owner })).body).toMatchObject({
      status: 422,
      code: "validation_failed",
    });
    const disagreeing = { ...filing("punishment"), target_id: freshId() };
    expect((await world.post("/workflows/punishment", disagreeing, { actor: owner })).body).toMatchObject({
      status: 422,
      code: "validation_failed",
    });
    const both = { allow: ["audit.read"], deny: ["audit.read"] };
    expect((await world.put("/permissions/roles/viewer", both, { actor: owner })).status).toBe(422);
  });

  test("count once where they mean the same, and never break anything", async () => {
    const { world } = shared;
    const [id, pair] = [freshId(), { guild_id: world.guild.id, role_id: world.guild.createRole("twin").id }];
    await world.sandbox.waitFor(() => world.app.guildState.role(pair.guild_id, pair.role_id));
    const checked = await world.post("/blacklist/check", { user_ids: [id, id] }, { actor: owner });
    expect(checked.status).toBe(200);
    expect(new Set(checked.body.data.users.map((user: any) => user.id))).toEqual(new Set([id]));
    const role = await world.put("/staffroles/twin", { name: "Twin", rank: 2, level: "viewer", discord: [pair, pair] }, { actor: owner });
    expect(role.status === 200 ? role.body.data.discord.length : role.status).toBeOneOf([1, 422]);
    const mapped = await world.put("/permissions/roles/viewer", { allow: ["audit.read", "audit.read"], deny: [] }, { actor: owner });
    expect([200, 422]).toContain(mapped.status);
    const record = { kind: "user", subject_id: id, scope: "servers", server_ids: [world.guild.id, world.guild.id] };
    expect([201, 422]).toContain((await world.post("/blacklist", record, { actor: owner })).status);
  });
});
