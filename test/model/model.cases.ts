import { nth, type Expected, type Model, type Note, type Opened, type Plan } from "./model.ts";
import { has, outranks, personOf, refusalOf } from "./rights.ts";
import type { Ground } from "./ground.ts";
import type { Caller, Step } from "./steps.ts";

type CommandRunner<What extends Step["do"]> = Extract<Step, { do: What }>;

/** A note can be changed for fifteen minutes: two units and a half. */
const editable = 2;
const refused = (status: number, code: string, more: object = {}): Expected => ({ status, body: { code, ...more } });
const working: readonly Opened["status"][] = ["open", "active"];

/** Whether a caller may know of a case: domain.md §3.6 and §3.8 in one place. */
export function canSee(by: Caller, one: Opened): boolean {
  const person = personOf(by);
  const isAssigned = person !== null && (one.lead === person || one.team.includes(person as Caller));
  if (!one.confidential) return isAssigned || (person !== null && one.by === person) || has(by, "cases.read_all");
  return one.about !== person && (isAssigned || has(by, "cases.confidential"));
}

/** What stands in the way of work on a case. */
function obstacle(by: Caller, one: Opened, action: string, from: readonly Opened["status"][], isWrong = false): Expected | undefined {
  if (!canSee(by, one)) return refused(404, "record_not_found");
  if (one.about === personOf(by)) return refused(403, "conflict_of_interest");
  if (!outranks(by, one.about)) return refused(403, "hierarchy_violation");
  if (isWrong) return refused(412, "precondition_failed", { current_etag: `"v${one.revision.toString()}"` });
  return from.includes(one.status) ? undefined : refused(409, "invalid_transition", { from: one.status, action });
}

function shown(one: Opened, ground: Ground) {
  return {
    id: one.id,
    number: one.number,
    status: one.status,
    confidential: one.confidential,
    outcome: one.outcome,
    subjects: [{ kind: "user", id: ground.idOf(one.about) }],
    opened_by: ground.personId(one.by),
    lead: one.lead === null ? null : ground.personId(one.lead),
    team: one.team.map((member) => ground.personId(member)),
    notes_count: one.notes.length,
    revision: one.revision,
  };
}

export function open(model: Model, { by, about, confidential, team }: CommandRunner<"open">, ground: Ground): Plan {
  const body = {
    title: `Case about ${about}`,
    subjects: [{ kind: "user", id: ground.idOf(about) }],
    confidential,
    ...(team && { team: [ground.personId("member")] }),
  };
  const asked = { method: "POST", path: "/cases", body };
  const refusal = refusalOf(by, "cases.create", true);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  if (about === personOf(by)) return { by, asked, expected: refused(403, "conflict_of_interest") };
  if (!outranks(by, about)) return { by, asked, expected: refused(403, "hierarchy_violation") };
  const one: Opened = {
    id: "",
    number: "",
    about,
    confidential,
    by,
    // Whoever opens a confidential case leads it.
    lead: confidential ? by : null,
    team: team ? ["member"] : [],
    status: "open",
    outcome: null,
    revision: 1,
    writes: 1,
    notes: [],
  };
  const { id: _id, number: _number, ...fields } = shown(one, ground);
  return {
    by,
    asked,
    expected: { status: 201, body: { data: fields } },
    learn: ({ id, number }) => void model.cases.push({ ...one, id, number }),
  };
}

export function note(model: Model, { by, which }: CommandRunner<"note">, ground: Ground): Plan | undefined {
  const one = nth(model.cases, which);
  if (one === undefined) return undefined;
  const body = `said${(model.said += 1).toString()}`;
  const asked = { method: "POST", path: `/cases/${one.id}/notes`, body: { body } };
  const refusal = refusalOf(by, "cases.note", true);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  const blocked = obstacle(by, one, "note", working);
  if (blocked !== undefined) return { by, asked, expected: blocked };
  return {
    by,
    asked,
    expected: { status: 201, body: { data: { body, author: ground.personId(by), edited_at: null, revision: 1 } } },
    learn({ id }) {
      one.notes.push({ id, by, at: model.now, texts: [body] });
      one.writes += 1;
    },
  };
}

export function edit(model: Model, step: CommandRunner<"edit">): Plan | undefined {
  const one = nth(model.cases, step.which);
  const found = nth(one?.notes ?? [], step.note);
  if (one === undefined || found === undefined) return undefined;
  const { match } = step;
  const by = step.own ? found.by : step.by;
  const body = `said${(model.said += 1).toString()}`;
  const ifMatch = { none: undefined, right: `"v${found.texts.length.toString()}"`, wrong: '"v99"' }[match];
  const asked = {
    method: "PATCH",
    path: `/cases/${one.number}/notes/${found.id}`,
    body: { body },
    ...(ifMatch !== undefined && { ifMatch }),
  };
  const refusal = refusalOf(by, "cases.note", true);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  const blocked = obstacle(by, one, "note_edit", working) ?? noteObstacle(model, by, found, match === "wrong");
  if (blocked !== undefined) return { by, asked, expected: blocked };
  return {
    by,
    asked,
    expected: { status: 200, body: { data: { id: found.id, body, revision: found.texts.length + 1 } } },
    learn() {
      found.texts.push(body);
      one.writes += 1;
    },
  };
}

function noteObstacle(model: Model, by: Caller, found: Note, isWrong: boolean): Expected | undefined {
  if (personOf(found.by) !== personOf(by)) return refused(403, "permission_denied");
  if (isWrong) return refused(412, "precondition_failed");
  return model.now - found.at > editable ? refused(409, "invalid_transition", { action: "note_edit" }) : undefined;
}

export function close(model: Model, { by, which, outcome, match }: CommandRunner<"close">, ground: Ground): Plan | undefined {
  const one = nth(model.cases, which);
  if (one === undefined) return undefined;
  const ifMatch = { none: undefined, right: `"v${one.revision.toString()}"`, wrong: '"v99"' }[match];
  const asked = { method: "POST", path: `/cases/${one.id}/close`, body: { outcome }, ...(ifMatch !== undefined && { ifMatch }) };
  const refusal = refusalOf(by, "cases.close", true);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  const blocked = obstacle(by, one, "close", working, match === "wrong");
  if (blocked !== undefined) return { by, asked, expected: blocked };
  if (outcome !== "resolved") return { by, asked, expected: refused(422, "validation_failed", { errors: [{ pointer: "/outcome" }] }) };
  return moved(model, by, one, asked, { status: "closed", outcome }, ground);
}

export function reopen(model: Model, { by, which }: CommandRunner<"reopen">, ground: Ground): Plan | undefined {
  const one = nth(model.cases, which);
  if (one === undefined) return undefined;
  const asked = { method: "POST", path: `/cases/${one.id}/reopen`, body: { reason: "A new witness." } };
  const refusal = refusalOf(by, "cases.reopen", true);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  const blocked = obstacle(by, one, "reopen", ["closed"]);
  if (blocked !== undefined) return { by, asked, expected: blocked };
  return moved(model, by, one, asked, { status: "active", outcome: null }, ground);
}

type Ending = Pick<Opened, "status" | "outcome">;

function moved(_model: Model, by: Caller, one: Opened, asked: Plan["asked"], to: Ending, ground: Ground): Plan {
  const after = { ...one, ...to, revision: one.revision + 1 };
  return {
    by,
    asked,
    expected: { status: 200, body: { data: shown(after, ground) } },
    learn: () => void Object.assign(one, to, { revision: after.revision, writes: one.writes + 1 }),
  };
}

export function see(model: Model, { by, which }: CommandRunner<"see">, ground: Ground): Plan | undefined {
  const one = nth(model.cases, which);
  if (one === undefined) return undefined;
  const asked = { method: "GET", path: `/cases/${one.number.toLowerCase()}` };
  const refusal = refusalOf(by, "cases.read", false);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  if (!canSee(by, one)) return { by, asked, expected: refused(404, "record_not_found") };
  return { by, asked, expected: { status: 200, body: { data: shown(one, ground) } } };
}

/** The cases about one of the people, as a caller finds them. */
export function find(model: Model, { by }: CommandRunner<"find">, ground: Ground): Plan {
  const asked = { method: "GET", path: `/cases?subject=${ground.idOf("Ann")}&limit=200` };
  const refusal = refusalOf(by, "cases.read", false);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  const wanted = model.cases.filter((one) => one.about === "Ann" && canSee(by, one)).map(({ number }) => number);
  return {
    by,
    asked,
    expected: {
      status: 200,
      holds(data: { number: string }[]) {
        const found = data.map(({ number }) => number).toSorted();
        if (found.join() !== wanted.toSorted().join()) throw new Error(`finds [${found.join()}] instead of [${wanted.toSorted().join()}]`);
      },
    },
  };
}
