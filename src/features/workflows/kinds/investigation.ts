import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Snowflake, Timestamp, text } from "../../../kernel/fields.ts";
import { effect, interimMeasures } from "../effects/inputs.ts";
import { idsUpTo } from "../requests/fields.ts";
import { dateOf, day, hour, kind, asField, ofServers, ofUser, server, snowflake, user } from "./kind.ts";

const InvestigationPayload = z
  .object({
    subject: z.preprocess(subjectOf, z.strictObject({ kind: z.enum(["user", "staff", "server"]).default("user"), id: Snowflake })),
    allegation: text(10, 2000),
    category: z.enum(["conduct", "abuse_of_power", "leak", "alt", "poaching", "security", "other"]).default("other"),
    confidential: z.boolean().default(false),
    lead_user_id: Snowflake.optional(),
    team_user_ids: idsUpTo(20).default([]),
    conflict_user_ids: idsUpTo(20).default([]),
    interim: z.enum(interimMeasures).default("none"),
    due_at: Timestamp.optional(),
  })
  .meta({ id: "InvestigationPayload" });

/** A lone id is that of a person, unless it was sent as that of a server. */
function subjectOf(given: unknown): unknown {
  if (typeof given === "string" || typeof given === "number") return { id: given };
  if (!isServerAlone(given)) return given;
  const { server_id: id } = given;
  return { kind: "server", id: Array.isArray(id) && id.length === 1 ? (id[0] as unknown) : id };
}

function isServerAlone(given: unknown): given is { server_id: unknown } {
  return typeof given === "object" && given !== null && Object.keys(given).join() === "server_id";
}

const words = (name: string): string => name.replaceAll("_", " ");

export const investigation = kind({
  label: "Investigation",
  summary: "Open a case about a person or a server, in confidence where that is needed.",
  prefix: "INV",
  payload: InvestigationPayload,
  classes: {
    subject: "public",
    allegation: "public",
    category: "public",
    confidential: "public",
    lead_user_id: "public",
    team_user_ids: "public",
    conflict_user_ids: "public",
    interim: "public",
    due_at: "public",
  },
  assumed: { allegation: ({ reason, summary }) => reason ?? summary },
  aliases: {
    ...asField(ofUser, "subject"),
    user_id: "subject",
    subject_id: "subject",
    target: "subject",
    description: "allegation",
    ...asField(ofServers, "subject.server_id"),
    server_ids: "subject.server_id",
  },
  filing: {
    options: [
      { name: "user", field: [], as: "user" },
      { name: "server", field: [], as: "server" },
      "category",
      { name: "staff", field: [], as: "boolean" },
      "confidential",
      { name: "lead", field: "lead_user_id" },
      "interim",
    ],
    form: ["allegation", "summary", "evidence"],
    fields: ({ user: person, server: place, staff }) => {
      if (person !== undefined) return { subject: { kind: staff === true ? "staff" : "user", id: person } };
      return place === undefined ? {} : { subject: { kind: "server", id: place } };
    },
  },
  approvals: { usual: 1 },
  reversals: 1,
  clocks: { firstTouch: 12 * hour, decision: 7 * day, expiry: 90 * day },
  coolDown: 0,
  subjects: ({ subject }) => [subject.kind === "server" ? server(subject.id) : user(subject.id)],
  conflicts: ({ conflict_user_ids }) => conflict_user_ids,
  readers: ({ confidential, lead_user_id, team_user_ids }) =>
    confidential ? [...(lead_user_id === undefined ? [] : [lead_user_id]), ...team_user_ids] : undefined,
  title: () => say("workflows.investigation"),
  effects: ({ subject, allegation, category, confidential, interim, ...payload }) => {
    const dueAt = dateOf(payload.due_at);
    const people = { isConfidential: confidential, leadId: payload.lead_user_id, team: payload.team_user_ids, dueAt };
    const about = subject.kind === "server" ? server(subject.id) : user(subject.id);
    return [
      effect("case.open", { type: "investigation", subject: about, text: `${allegation}\nCategory: ${words(category)}`, people }),
      ...(interim === "none" ? [] : [effect("interim.measure", { subject, confidential, measure: interim, dueAt })]),
    ];
  },
  example: { subject: { kind: "user", id: snowflake }, allegation: "Shared internal screenshots outside the team.", category: "leak" },
});
