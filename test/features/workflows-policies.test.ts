import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { defaultPolicy } from "../../src/features/workflows/policies/policies.ts";
import { actions, moves } from "../../src/features/workflows/state/table.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import { inWords } from "../../src/kit/say.ts";
import { shareWorld } from "../contract/world.ts";
import { createGround, freshId } from "./workflows-ground.ts";

const shared = shareWorld();
const path = "/workflows/policies/punishment";
const day = 86_400;

describe("how a kind is decided", () => {
  test("is chosen field by field, with the revision it was read at, and told in the audit", async () => {
    const { world } = shared;
    const [owner, admin, senior] = [await world.staff("owner"), await world.staff("admin"), await world.staff("senior")];
    const { body, headers } = await world.get(path, { actor: admin });
    expect(body.data).toMatchObject({
      type: "punishment",
      ...defaultPolicy("punishment"),
      reference_prefix: "PUN",
      chosen: [],
      revision: 1,
      updated_by: null,
    });
    expect((await world.get(path, { actor: senior })).body.code).toBe("permission_denied");
    expect((await world.patch(path, { approvals: 2 }, { actor: admin })).body.code).toBe("permission_denied");
    const etag = headers.get("etag") ?? "";
    const changed = await world.patch(path, { approvals_grave: 3, notify: "none" }, { actor: owner, headers: { "if-match": etag } });
    expect(changed.body.data).toMatchObject({
      approvals: 1,
      approvals_grave: 3,
      notify: "none",
      chosen: ["approvals_grave", "notify"],
      revision: 2,
      updated_by: owner.id,
    });
    expect(changed.body.data.defaults).toEqual(defaultPolicy("punishment"));
    expect((await world.patch(path, { approvals: 2 }, { actor: owner, headers: { "if-match": etag } })).body.code).toBe(
      "precondition_failed",
    );
    expect((await world.patch(path, { approvals_grave: 3 }, { actor: owner })).body.data.revision).toBe(2);
    const returned = await world.patch("/workflows/policies/PUNISHMENT", { approvals_grave: null }, { actor: owner });
    expect(returned.body.data).toMatchObject({ approvals_grave: 2, chosen: ["notify"], revision: 3 });
    const reset = await world.delete(path, undefined, { actor: owner });
    expect(reset.body.data).toMatchObject({ ...defaultPolicy("punishment"), chosen: [], revision: 4 });
    const entries = (await world.get("/audit?action=workflow_policy.update", { actor: owner })).body.data as {
      before: object;
      after: object;
      target: object;
    }[];
    expect(entries.map(({ before, after, target }) => [before, after, target])).toEqual(
      [
        [
          { approvals_grave: 2, notify: "dm" },
          { approvals_grave: 3, notify: "none" },
        ],
        [{ approvals_grave: 3 }, { approvals_grave: 2 }],
        [{ notify: "none" }, { notify: "dm" }],
      ]
        .toReversed()
        .map((change) => [...change, { kind: "workflow_policy", id: "punishment", reference: null }]),
    );
    expect((await world.get("/workflows/policies/nothing", { actor: owner })).body.code).toBe("record_not_found");
    expect((await world.get("/workflows/policies?count=true&limit=4", { actor: owner })).body.page.total).toBe(9);
  });

  test.each([
    [{ approvals: 3 }, "/approvals_grave"],
    [{ expiry_seconds: 3 * day }, "/expiry_seconds"],
    [{ first_touch_seconds: 3 * day + 1 }, "/first_touch_seconds"],
    [{ prefix: "BLU" }, "/prefix"],
    [{ prefix: "pun" }, "/prefix"],
    [{ decision_seconds: 11 * 365 * day }, "/decision_seconds"],
    [{ approvals: 0 }, "/approvals"],
    [{ claim_seconds: "PT4H" }, "/claim_seconds"],
    [{ clocks: {} }, "/clocks"],
  ])("refuses %j and changes nothing", async (change, pointer) => {
    const { world } = shared;
    const owner = await world.staff("owner");
    const before = (await world.get(path, { actor: owner })).body;
    const { status, body } = await world.patch(path, change, { actor: owner });
    expect([status, body.errors?.map((error: { pointer: string }) => error.pointer)]).toEqual([422, [pointer]]);
    expect((await world.get(path, { actor: owner })).body.data).toEqual(before.data);
  });

  test("a prefix another kind gave up can be taken, and then not be returned to", async () => {
    const ground = await createGround();
    const { policies } = ground.workflows;
    const call = ground.callOf({ actor: ground.staff("owner") });
    await policies.update(call, "poach", { prefix: "POA" });
    await policies.update(call, "punishment", { prefix: "PCH" });
    await expect(policies.reset(call, "poach")).rejects.toMatchObject({ errors: [{ pointer: "/prefix", code: "taken" }] });
    expect(await policies.get(call, "poach")).toMatchObject({ prefix: "POA", revision: 2 });
  });

  test("where one prefix serves all, prefixes of kinds do not matter", async () => {
    const ground = await createGround({ referencePrefix: "ACME" });
    const call = ground.callOf({ actor: ground.staff("owner") });
    const changed = await ground.workflows.policies.update(call, "poach", { prefix: "BLU" });
    expect(changed).toMatchObject({ prefix: "BLU", reference_prefix: "ACME" });
    const { types } = await ground.workflows.types.list(call);
    expect(new Set(types.map(({ prefix }) => prefix))).toEqual(new Set(["ACME"]));
  });

  test("new requests go by it, open ones keep their approvals and dates", async () => {
    const ground = await createGround();
    const [actor, owner] = [ground.staff("moderator"), ground.staff("owner")];
    const file = async () => {
      const { body } = await ground.post(
        "/workflows/punishment",
        { user_id: freshId(), action: "note", reason: "Insulted two newcomers." },
        { actor },
      );
      return (await ground.get(`/workflows/punishment/${body.reference}`, { actor: owner })).body.data;
    };
    const old = await file();
    const change = { prefix: "PNS", approvals: 2, decision_seconds: 7200, first_touch_seconds: 3600 };
    await ground.workflows.policies.update(ground.callOf({ actor: owner }), "punishment", change);
    const fresh = await file();
    const lasts = ({ created_at, timers }: { created_at: string; timers: { due_decision_at: string } }) =>
      Date.parse(timers.due_decision_at) - Date.parse(created_at);
    expect([fresh.reference, fresh.approvals.required, lasts(fresh)]).toEqual(["PNS-REQ-000001", 2, 7_200_000]);
    const now = (await ground.get(`/workflows/punishment/${old.reference}`, { actor: owner })).body.data;
    expect([now.approvals.required, now.timers]).toEqual([1, old.timers]);
  });

  test("it warns where too few people hold the permission", async () => {
    const ground = await createGround();
    const seniors = [ground.staff("senior"), ground.staff("senior"), ground.staff("moderator")];
    Object.assign(ground.services.access, { people: () => seniors });
    const call = ground.callOf({ actor: ground.staff("owner") });
    const { policies } = ground.workflows;
    expect((await policies.get(call, "appeal")).warnings.map(({ pointer }) => pointer)).toEqual(["/reversals"]);
    const { warnings } = await policies.update(call, "appeal", { approvals_grave: 3 });
    expect(inWords(warnings.map(({ pointer, detail }) => [pointer, detail]))).toEqual([
      ["/approvals_grave", "An approval can need 3 people, and 2 hold workflows.appeal.decide."],
      ["/reversals", "A reversal can need 1 people, and 0 hold workflows.appeal.reverse."],
    ]);
  });

  test("two changes at once are both there", async () => {
    const ground = await createGround();
    const call = ground.callOf({ actor: ground.staff("owner") });
    const { policies } = ground.workflows;
    await Promise.all([policies.update(call, "poach", { approvals_grave: 4 }), policies.update(call, "poach", { reversals: 2 })]);
    expect(await policies.get(call, "poach")).toMatchObject({ approvals_grave: 4, reversals: 2, revision: 3 });
  });
});

test("the page about requests has every move and every kind as the code has them", () => {
  const lines = readFileSync(new URL("../../docs/workflows.md", import.meta.url), "utf8").split("\n");
  const cellsOf = (name: string) =>
    lines
      .filter((line) => line.startsWith(`| \`${name}\` `))
      .map((line) =>
        line
          .split("|")
          .slice(2, -1)
          .map((cell) => cell.trim()),
      );
  for (const action of actions) {
    const { from, to, permission, isRequesters } = moves[action];
    const who = [permission === null ? [] : `\`${permission}\``, isRequesters === true ? "the requester" : []].flat().join(" or ");
    expect([action, cellsOf(action)]).toEqual([action, [[from.join(", "), to, who]]]);
  }
  for (const type of workflowKinds) {
    const { prefix, approvals, approvals_grave: grave } = defaultPolicy(type);
    const needed = grave === approvals ? `${approvals.toString()}` : `${approvals.toString()}, grave ${grave.toString()}`;
    expect([type, cellsOf(type)[0]?.slice(0, 2)]).toEqual([type, [`\`${prefix}\``, needed]]);
  }
});

describe("the kinds described", () => {
  test("by schemas their examples fit, with what the caller may do, and a tag", async () => {
    const { world } = shared;
    const [viewer, admin, stranger] = [await world.staff("viewer"), await world.staff("admin"), world.member()];
    const { body, headers, status } = await world.get("/workflows/types", { actor: viewer });
    expect(status).toBe(200);
    const { types, common } = body.data;
    expect(types.map(({ type }: { type: string }) => type)).toEqual([...workflowKinds]);
    for (const { type, payload, example, aliases, decisions, title } of types) {
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      expect([type, ajv.validate(payload, example), ajv.errorsText()]).toEqual([type, true, "No errors"]);
      expect(Object.values(aliases).every((name) => Object.hasOwn(payload.properties, String(name).split(".")[0] ?? ""))).toBe(true);
      expect([decisions.yes, decisions.rescind]).toEqual(["approve", "reverse"]);
      expect(title).not.toBe("");
    }
    expect(common.properties).toHaveProperty("on_duplicate");
    const may = (views: { type: string; may: object }[], kind: string) => views.find(({ type }) => type === kind)?.may;
    expect(may(types, "poach")).toEqual({ create: true, decide: false, reverse: false });
    expect(may(types, "punishment")).toEqual({ create: false, decide: false, reverse: false });
    expect(types.find(({ type }: { type: string }) => type === "appeal").decisions).toMatchObject({ uphold: "deny", overturn: "approve" });
    const asAdmin = await world.get("/workflows/types", { actor: admin });
    expect(may(asAdmin.body.data.types, "punishment")).toEqual({ create: true, decide: true, reverse: true });
    const tag = headers.get("etag") ?? "";
    expect((await world.get("/workflows/types", { actor: viewer, headers: { "if-none-match": tag } })).status).toBe(304);
    expect((await world.get("/workflows/types", { actor: admin, headers: { "if-none-match": tag } })).status).toBe(200);
    expect((await world.get("/workflows/types", { actor: stranger })).body.code).toBe("acting_user_not_staff");
    const narrow = await world.makeKey(["staff.read"]);
    expect((await world.get("/workflows/types", { actor: admin, key: narrow })).body.code).toBe("permission_denied");
  });
});
