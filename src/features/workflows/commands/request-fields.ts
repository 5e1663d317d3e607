import { blacklistCategories, memberPolicies, severities } from "../../../kernel/vocabulary.ts";
import type { FieldSpec, Given, OptionSpec } from "../../../commands/entry.ts";
import { durationIn, picked, textIn } from "../../../commands/given.ts";
import { linesOf } from "./moves.ts";

const text = (name: string, most = 100): OptionSpec => ({ name, kind: "text", max: most });
const server = (name: string): OptionSpec => ({ name, kind: "text", min: 17, max: 20 });
const person = (name: string): OptionSpec => ({ name, kind: "person" });
const one = (name: string, of: string | readonly string[]): OptionSpec => ({
  name,
  kind: "text",
  choices: typeof of === "string" ? of.split(",") : of,
});
const oneField = (name: string, choices: readonly string[]): FieldSpec => ({ name, kind: "choice", choices });
/** What a suggested request may still lack. In its form, for the command has no room for further options. */
export const missingInDrafts: readonly FieldSpec[] = [
  oneField("category", [...new Set([...blacklistCategories.user, ...blacklistCategories.server])]),
  oneField("severity", severities),
  oneField("member-policy", memberPolicies),
];
const needed = (option: OptionSpec): OptionSpec => ({ ...option, required: true });
const long = (name: string, min: number, max: number): FieldSpec => ({ name, kind: "paragraph", required: true, min, max });
const loose = (name: string, max: number): FieldSpec => ({ name, kind: "paragraph", max });

const reason = long("reason", 10, 1000);
const summary = loose("summary", 2000);
const evidence = loose("evidence", 4000);
/** What every kind takes. */
const common: readonly OptionSpec[] = [one("priority", "low,normal,high,critical"), { name: "urgent", kind: "yes" }];

/** What a kind of request is filed with in Discord. */
export interface Filing {
  /** The sub-command. */
  path: string;
  operation: string;
  options: readonly OptionSpec[];
  form: readonly FieldSpec[];
  /** The fields of the kind, under the names of the HTTP door. */
  fields(given: Given): object;
}

/** A day is its beginning in UTC; anything else is sent as it was typed. */
function moment(typed: string | undefined): string | undefined {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d))?$/.exec(typed?.trim() ?? "") ?? [];
  return day === undefined ? typed : `${day}T${time ?? "00:00"}:00.000Z`;
}

function several(given: Given, ...names: readonly string[]): string[] | undefined {
  const ids = names.flatMap((name) => (textIn(given, name) ?? "").split(/[\s,]+/)).filter((id) => id !== "");
  return ids.length === 0 ? undefined : [...new Set(ids)];
}

const userOf = (given: Given, name = "user") => ({ user_id: textIn(given, name) });
const durations = text("duration", 40);

const ownFilings: readonly Filing[] = [
  {
    path: "blacklist-user",
    operation: "createBlacklistUserRequest",
    options: [
      needed(person("user")),
      needed(one("category", blacklistCategories.user)),
      needed(one("severity", severities)),
      one("scope", "network,servers"),
      text("servers", 500),
      one("recommended-action", "monitor,verify,deny_entry,kick,ban"),
      durations,
    ],
    form: [reason, summary, evidence],
    fields: (given) => ({
      ...picked(given, "category", "severity", "scope", "recommended-action"),
      ...userOf(given),
      ...durationIn(given),
      server_ids: several(given, "servers"),
    }),
  },
  {
    path: "blacklist-server",
    operation: "createBlacklistServerRequest",
    options: [
      needed(server("server")),
      needed(one("category", blacklistCategories.server)),
      needed(one("severity", severities)),
      needed(one("member-policy", memberPolicies)),
      text("server-name"),
      person("owner"),
      text("invites", 500),
      durations,
    ],
    form: [reason, summary, evidence],
    fields: (given) => ({
      ...picked(given, "category", "severity", "member-policy", "server-name"),
      ...durationIn(given),
      server_id: textIn(given, "server"),
      owner_user_id: textIn(given, "owner"),
      invite_codes: several(given, "invites"),
    }),
  },
  {
    path: "investigation",
    operation: "createInvestigationRequest",
    options: [
      person("user"),
      server("server"),
      one("category", "conduct,abuse_of_power,leak,alt,poaching,security,other"),
      { name: "staff", kind: "yes" },
      { name: "confidential", kind: "yes" },
      person("lead"),
      one("interim", "none,suspend_permissions,remove_from_queue"),
    ],
    form: [long("allegation", 10, 2000), summary, evidence],
    fields: (given) => ({
      ...picked(given, "category", "confidential", "interim", "allegation"),
      subject: subjectOf(given),
      lead_user_id: textIn(given, "lead"),
    }),
  },
  {
    path: "recruitment",
    operation: "createRecruitmentRequest",
    options: [
      needed(person("user")),
      needed({ ...text("position", 60), completes: "staff-role" }),
      text("department"),
      person("referred-by"),
      text("timezone", 60),
      { name: "trial-days", kind: "whole", min: 0, max: 365 },
    ],
    form: [{ ...reason, required: false }, loose("experience", 2000), loose("availability", 500), summary, evidence],
    fields: (given) => ({
      ...picked(given, "position", "department", "referred-by", "timezone", "trial-days", "experience", "availability"),
      ...userOf(given),
    }),
  },
  {
    path: "server-merge",
    operation: "createServerMergeRequest",
    options: [
      needed(server("source")),
      needed(server("target")),
      needed(text("effective", 40)),
      one("initiated-by", "source,target,network"),
      one("records", "link,transfer"),
      one("callsign-policy", "keep_target,renumber"),
      one("source-after", "archive,keep"),
    ],
    form: [{ ...reason, required: false }, summary, evidence],
    fields: (given) => ({
      ...picked(given, "initiated-by", "records", "callsign-policy", "source-after"),
      source_server_id: textIn(given, "source"),
      target_server_id: textIn(given, "target"),
      effective_at: moment(textIn(given, "effective")),
    }),
  },
  {
    path: "alt",
    operation: "createAltRequestRequest",
    options: [
      needed(person("user")),
      needed(person("other")),
      needed(one("confidence", "suspected,probable,confirmed")),
      person("third"),
      person("fourth"),
      one("account-kind", "suspected_evasion,declared_alt,shared_account,compromised"),
      one("basis-kind", "admission,staff_observation,shared_connection,behaviour,invite_chain,other"),
    ],
    form: [long("basis", 3, 2000), { ...reason, required: false }, summary, evidence],
    fields: (given) => ({
      ...picked(given, "confidence"),
      kind: textIn(given, "account-kind"),
      user_ids: several(given, "user", "other", "third", "fourth"),
      primary_user_id: textIn(given, "user"),
      basis: [{ type: textIn(given, "basis-kind"), note: textIn(given, "basis") }],
    }),
  },
  {
    path: "punishment",
    operation: "createPunishmentRequest",
    options: [
      needed(person("user")),
      needed(one("action", "note,warning,strike,probation,suspension,demotion,termination,blacklist_referral")),
      { name: "points", kind: "whole", min: 0, max: 10 },
      durations,
      text("rules", 500),
      text("case-reference", 60),
      { ...text("demote-to", 60), completes: "staff-role" },
      one("discord", "none,timeout,role_remove,kick,ban"),
      { name: "notify-subject", kind: "yes" },
    ],
    form: [reason, summary, evidence],
    fields: (given) => ({
      ...picked(given, "action", "points", "case-reference", "demote-to", "notify-subject"),
      ...userOf(given),
      ...durationIn(given),
      rules: several(given, "rules"),
      discord: textIn(given, "discord") === undefined ? undefined : { action: textIn(given, "discord") },
    }),
  },
  {
    path: "poach",
    operation: "createPoachRequest",
    options: [
      needed(one("kind", "report,agreement,clearance")),
      person("offender"),
      server("offending-server"),
      server("victim-server"),
      text("occurred", 40),
      one("method", "dm,invite,offer,ad,role_offer,other"),
      text("parties", 250),
      one("covers", "staff,members,both"),
      person("user"),
      server("from-server"),
      server("to-server"),
    ],
    form: [{ ...reason, required: false }, loose("terms", 4000), summary, evidence],
    fields: (given) => ({
      ...picked(given, "kind", "method", "covers", "terms"),
      ...userOf(given),
      offender_user_ids: several(given, "offender"),
      offending_server_id: textIn(given, "offending-server"),
      victim_server_id: textIn(given, "victim-server"),
      from_server_id: textIn(given, "from-server"),
      to_server_id: textIn(given, "to-server"),
      party_server_ids: several(given, "parties"),
      occurred_at: moment(textIn(given, "occurred")),
    }),
  },
  {
    path: "appeal",
    operation: "createAppealRequest",
    options: [needed(text("target")), one("desired-outcome", "overturn,reduce,clarify"), person("user")],
    form: [long("grounds", 20, 2000), evidence],
    fields: (given) => ({ ...picked(given, "target", "desired-outcome", "grounds"), ...userOf(given) }),
  },
];

/** Every kind of request, as `/request` files it. */
export const filings: readonly Filing[] = ownFilings.map((filing) => ({ ...filing, options: [...filing.options, ...common] }));

/** Whom an investigation is about. */
function subjectOf(given: Given): object | undefined {
  const [user, ofServer] = [textIn(given, "user"), textIn(given, "server")];
  if (user !== undefined) return { kind: given.values["staff"] === true ? "staff" : "user", id: user };
  return ofServer === undefined ? undefined : { kind: "server", id: ofServer };
}

/** The body of a filing: its own fields, and what every kind takes. */
export function filingBody({ fields }: Pick<Filing, "fields">, given: Given, guildId: string | undefined): object {
  const lines = linesOf(textIn(given, "evidence"));
  return {
    ...picked(given, "reason", "summary", "priority", "urgent"),
    ...fields(given),
    ...(lines.length > 0 && { evidence: lines }),
    ...(given.channel !== undefined && { origin: { channel_id: given.channel, guild_id: guildId } }),
  };
}
