// @module-tag sqlite
import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../src/sandbox/index.ts";
import type { DocumentedRoute } from "./document.ts";
import { bodySchema, documentedRoutes, filing, freshExample, freshId } from "./document.ts";
import type { Flaw } from "./flaws.ts";
import { flawsOf, wrongEverywhere } from "./flaws.ts";
import { tier } from "../support/size.ts";
import { authorize, everyRow, shareWorld } from "./world.ts";

const shared = shareWorld();
let owner: User;
const places: Record<string, string> = { place: "1", key: "moderator", role_key: "moderator", type: "punishment", callsign: "M-001" };
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
  const longFor = ({ path }: DocumentedRoute) => JSON.stringify({ reason: "x".repeat((path === "/blacklist/import" ? 4100 : 300) * 1024) });

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
    for (const name of Object.keys(properties)) {
      for (const text of [
        "a\u0000b and some more text",
        "\u001b[2J and some more text",
        "\ud800 and some more text",
        "\u202e and some more text",
      ]) {
        const answer = await ask(route, { ...freshExample(route), [name]: text });
        expect([name, text, answer.status < 500 ? "fine" : answer.body]).toEqual([name, text, "fine"]);
        if (text.includes("\u0000")) expect([name, answer.status]).toEqual([name, 422]);
      }
    }
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
