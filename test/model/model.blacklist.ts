import { nth, type Expected, type Listed, type Model, type Plan } from "./model.ts";
import { has, outranks, refusalOf } from "./rights.ts";
import type { Ground } from "./ground.ts";
import { severities, type Step, type Subject } from "./steps.ts";

type CommandRunner<What extends Step["do"]> = Extract<Step, { do: What }>;

export function statusOf({ isRevoked, from, until }: Listed, now: number): "active" | "scheduled" | "expired" | "revoked" {
  if (isRevoked) return "revoked";
  if (until !== null && until <= now) return "expired";
  return from <= now ? "active" : "scheduled";
}

const isLive = (record: Listed, now: number): boolean => ["active", "scheduled"].includes(statusOf(record, now));
const kindOf = (about: Subject): "user" | "server" => (about === "Den" ? "server" : "user");
const refused = (status: number, code: string, more: object = {}): Expected => ({ status, body: { code, ...more } });
const invalid = (pointer: string): Expected => refused(422, "validation_failed", { errors: [{ pointer }] });

/** Time has passed: sweeps may have moved records on, once for each turn. */
export function notePassing(model: Model): void {
  for (const record of model.records) {
    if (record.isRevoked) continue;
    if (!record.turned.start && record.from <= model.now) {
      record.turned.start = true;
      record.revision.most += 1;
    }
    if (!record.turned.end && record.until !== null && record.until <= model.now) {
      record.turned.end = true;
      record.revision.most += 1;
    }
  }
}

/** A revision was seen: no sweep goes back behind it. */
export function seeRevision(record: Listed, revision: number): void {
  const { least, most } = record.revision;
  if (revision < least || revision > most)
    throw new Error(`${record.number} has revision ${revision.toString()}, which should be ${least.toString()} to ${most.toString()}`);
  record.revision.least = revision;
}

/** The record as an answer has to show it to this caller. */
function shown(record: Listed, model: Model) {
  return {
    id: record.id,
    number: record.number,
    kind: kindOf(record.about),
    scope: record.scope,
    severity: record.severity,
    status: statusOf(record, model.now),
    tags: record.tags,
  };
}

const hiddenFrom = (by: Plan["by"]): string[] => (has(by, "blacklist.read_confidential") ? [] : ["reason_internal", "exempt_user_ids"]);

/** List a subject. */
export function list(model: Model, step: CommandRunner<"list">, ground: Ground): Plan | undefined {
  const { by, about, scope, severity, from, lasts, secret } = step;
  const body = {
    kind: kindOf(about),
    subject_id: ground.idOf(about),
    scope,
    ...(scope === "servers" && { server_ids: [ground.serverId] }),
    severity,
    ...(secret && { reason_internal: "seen on the second camera" }),
    ...(from > 0 && { starts_at: ground.at(from) }),
    ...(lasts !== null && { duration: ground.length(lasts) }),
  };
  const asked = { method: "POST", path: "/blacklist", body };
  const refusal = refusalOf(by, "blacklist.create", true);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  if (kindOf(about) === "user" && !outranks(by, about)) return { by, asked, expected: refused(403, "hierarchy_violation") };
  // Staff who are listed lose their rights: the callers of the next sequences would be others.
  if (about === "suspect" || about === "chief") return undefined;
  const rivals = model.records.filter((record) => record.about === about && record.scope === scope);
  const rival = rivals.find((record) => isLive(record, model.now));
  if (rival !== undefined) return { by, asked, expected: refused(409, "duplicate_active_record", { reference: rival.number }) };
  const start = model.now + from;
  const record: Listed = {
    id: "",
    number: "",
    about,
    scope,
    severity,
    tags: [],
    hasSecret: secret,
    from: start,
    until: lasts === null ? null : start + lasts,
    isRevoked: false,
    revision: { least: 1, most: 1 },
    turned: { start: from === 0, end: false },
    beginsLater: from > 0,
    by,
  };
  const { id: _id, number: _number, ...fields } = shown(record, model);
  const internal = secret ? "seen on the second camera" : null;
  return {
    by,
    asked,
    expected: { status: 201, body: { data: { ...fields, revision: 1, created_by: ground.personId(by), reason_internal: internal } } },
    learn(data) {
      model.records.push({ ...record, id: data.id, number: data.number });
      // A record past its end has made room: it is expired now, whoever expired it. One that was to start first may have gone
      // from scheduled to expired in one change, and that may have been seen already.
      const startedAtOnce = rivals.filter(({ turned, beginsLater }) => turned.end && !beginsLater);
      for (const lapsed of startedAtOnce.filter(({ revision }) => revision.least < revision.most)) lapsed.revision.least += 1;
    },
  };
}

/** The `If-Match` of a step, and whether it is known to be wrong. */
function matchOf(match: "none" | "right" | "wrong", { revision }: Listed): { ifMatch?: string; isWrong: boolean } {
  if (match === "wrong") return { ifMatch: '"v99"', isWrong: true };
  if (match === "right" && revision.least === revision.most) return { ifMatch: `"v${revision.least.toString()}"`, isWrong: false };
  return { isWrong: false };
}

/** What stands in the way of work on a record. */
function obstacle(model: Model, by: Plan["by"], record: Listed, action: string, isWrong: boolean): Expected | undefined {
  if (isWrong) return refused(412, "precondition_failed");
  const from = statusOf(record, model.now);
  if (!isLive(record, model.now)) return refused(409, "invalid_transition", { from, action });
  return kindOf(record.about) === "user" && !outranks(by, record.about) ? refused(403, "hierarchy_violation") : undefined;
}

export function change(model: Model, step: CommandRunner<"change">, ground: Ground): Plan | undefined {
  const { by, set, severity, lasts, match } = step;
  const record = nth(model.records, step.which);
  if (record === undefined) return undefined;
  const { ifMatch, isWrong } = matchOf(match, record);
  const tags = [`tag${(model.said += 1).toString()}`];
  const bodies = { severity: { severity }, tags: { tags }, end: { duration: lasts === null ? null : ground.length(lasts) }, nothing: {} };
  const asked = { method: "PATCH", path: `/blacklist/${record.id}`, body: bodies[set], ...(ifMatch !== undefined && { ifMatch }) };
  const refusal = refusalOf(by, "blacklist.update", true);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  const blocked = obstacle(model, by, record, "update", isWrong);
  if (blocked !== undefined) return { by, asked, expected: blocked };
  const until = set !== "end" ? record.until : lasts === null ? null : Math.max(record.from, model.now) + lasts;
  const after: Listed = { ...record, ...(set === "severity" && { severity }), ...(set === "tags" && { tags }), until };
  // The end of a record that has begun counts from now on: it is another one, even where the model's coarse time says the same.
  const isSameEnd = until === null ? record.until === null : record.from > model.now && until === record.until;
  const isSame = set === "nothing" || (set === "severity" && severity === record.severity) || (set === "end" && isSameEnd);
  return {
    by,
    asked,
    expected: { status: 200, body: { data: shown(after, model) }, absent: hiddenFrom(by) },
    learn(data) {
      const written = isSame ? 0 : 1;
      record.revision = { least: record.revision.least + written, most: record.revision.most + written };
      seeRevision(record, data.revision);
      Object.assign(record, { severity: after.severity, tags: after.tags, until });
      record.turned.end = false;
    },
  };
}

export function revoke(model: Model, step: CommandRunner<"revoke">): Plan | undefined {
  const { by, says, match } = step;
  const record = nth(model.records, step.which);
  if (record === undefined) return undefined;
  const { ifMatch, isWrong } = matchOf(match, record);
  const asked = {
    method: "DELETE",
    path: `/blacklist/${record.number.toLowerCase()}`,
    body: says ? { reason: "A mistake." } : {},
    ...(ifMatch !== undefined && { ifMatch }),
  };
  const refusal = refusalOf(by, "blacklist.revoke", true);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  if (!says) return { by, asked, expected: invalid("/reason") };
  const blocked = obstacle(model, by, record, "revoke", isWrong);
  if (blocked !== undefined) return { by, asked, expected: blocked };
  return {
    by,
    asked,
    expected: { status: 200, body: { data: { ...shown(record, model), status: "revoked", revoked: { reason: "A mistake." } } } },
    learn(data) {
      record.revision = { least: record.revision.least + 1, most: record.revision.most + 1 };
      seeRevision(record, data.revision);
      record.revision.most = data.revision;
      record.isRevoked = true;
    },
  };
}

export function read(model: Model, { by, which }: CommandRunner<"read">): Plan | undefined {
  const record = nth(model.records, which);
  if (record === undefined) return undefined;
  const asked = { method: "GET", path: `/blacklist/${record.id}` };
  const refusal = refusalOf(by, "blacklist.read", false);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  const reason = record.hasSecret ? "seen on the second camera" : null;
  const data = { ...shown(record, model), ...(has(by, "blacklist.read_confidential") && { reason_internal: reason }) };
  return {
    by,
    asked,
    expected: { status: 200, body: { data }, absent: hiddenFrom(by) },
    learn: ({ revision }) => seeRevision(record, revision),
  };
}

/** Everybody of the sequence at once. */
export function check(model: Model, { by }: CommandRunner<"check">, ground: Ground): Plan {
  const asked = {
    method: "POST",
    path: "/blacklist/check",
    body: { user_ids: [ground.idOf("Ann"), ground.idOf("Ben")], server_ids: [ground.idOf("Den")] },
  };
  const refusal = refusalOf(by, "blacklist.check", false);
  if (refusal !== undefined) return { by, asked, expected: { status: refusal.status, body: refusal } };
  const active = (about: Subject) =>
    model.records
      .filter((record) => record.about === about && statusOf(record, model.now) === "active")
      .map(({ number, severity }) => (has(by, "blacklist.read") ? `${number} ${severity}` : `${severity}`));
  const seen = (records: { number?: string; severity: string }[]) =>
    records.map(({ number, severity }) => [number, severity].filter((text) => text !== undefined).join(" ")).toSorted();
  return {
    by,
    asked,
    expected: {
      status: 200,
      holds({ users, servers }) {
        for (const [about, answer] of [
          ["Ann", users[0]],
          ["Ben", users[1]],
          ["Den", servers[0]],
        ] as const) {
          const wanted = active(about).toSorted();
          if (JSON.stringify(seen(answer.records)) !== JSON.stringify(wanted) || answer.listed !== wanted.length > 0)
            throw new Error(`${about} should be listed as [${wanted.join(", ")}], and is as [${seen(answer.records).join(", ")}]`);
          const order = answer.records.map(({ severity }: { severity: (typeof severities)[number] }) => severities.indexOf(severity));
          if (order.some((severity: number, index: number) => severity > (order[index - 1] ?? 3))) throw new Error("not the gravest first");
        }
      },
    },
  };
}
