import { ZodError } from "zod";
import { isDenial } from "../kernel/denied.ts";
import { lackText, ProblemError, type ProblemCode, problems, validationProblem } from "../kernel/errors.ts";
import { isSnowflake } from "../kernel/fields.ts";
import { fieldErrors } from "../kernel/validation.ts";
import { fieldLines, type FindGiven } from "./field-lines.ts";
import type { Reply } from "./command.ts";
import { inEnglish, type Translate } from "../kit/say.ts";
import { escapeText } from "./replies.ts";
import { permissionText, sentenceText, taskText } from "./sentence.ts";

/** What goes with a refusal, so that the input is not lost: buttons for another attempt, files, further lines. */
export type Offer = Pick<Reply, "components" | "files"> & { notes?: readonly string[] };

/** A refused command: the refusal or an unexpected error, where its wrong fields were given, and what is offered with it. */
export class RefusedCommand extends Error {
  readonly refusal: unknown;
  readonly findGiven: FindGiven | undefined;
  readonly offer: Offer;

  constructor(refusal: unknown, findGiven: FindGiven | undefined, offer: Offer = {}) {
    super("a command was refused", { cause: refusal });
    this.name = "RefusedCommand";
    this.refusal = refusal;
    this.findGiven = findGiven;
    this.offer = offer;
  }
}

/** An error with what is offered with it. Where the person gave what it finds wrong stays known. */
export function withOffer(thrown: unknown, offerFor: (error: unknown) => Offer): RefusedCommand {
  const { refusal, findGiven } = thrown instanceof RefusedCommand ? thrown : { refusal: thrown, findGiven: undefined };
  return new RefusedCommand(refusal, findGiven, offerFor(refusal));
}

/** What is known of the command that was refused. */
export interface RefusedAt {
  findGiven?: FindGiven | undefined;
  /** The name of the server it was given in. */
  community?: string | undefined;
  /** Further lines for this person. */
  notes?: readonly string[];
}

/** The refusal that was thrown; undefined if the error is none and has to be logged. */
export function refusalIn(error: unknown): ProblemError | undefined {
  if (error instanceof ZodError) return validationProblem(fieldErrors(error.issues, "body"));
  return error instanceof ProblemError ? error : undefined;
}

/** Translates a refusal into a reply: what went wrong and what to do, then the code; undefined if the error is no refusal. */
export function refusalReply(error: unknown, t: Translate = inEnglish, at: RefusedAt = {}): Reply | undefined {
  const refusal = refusalIn(error);
  if (refusal === undefined) return undefined;
  const lines = refusalLines(refusal, t, at);
  if (refusal.retryAfter !== undefined)
    lines.push(t("door wait", { at: `<t:${(Math.ceil(Date.now() / 1000) + refusal.retryAfter).toString()}:R>` }));
  return { content: [...lines, ...(at.notes ?? []), `-# ${refusal.code}`].join("\n") };
}

/** What a refusal says, without its code, as a part of another reply. */
export function refusalText(refusal: ProblemError, t: Translate): string {
  return refusalLines(refusal, t, {}).join(" ");
}

function refusalLines(refusal: ProblemError, t: Translate, { findGiven, community }: RefusedAt): string[] {
  const fields = fieldLines(refusal.errors ?? [], t, findGiven ?? (() => undefined));
  if (fields.length === 0) return [sentenceOf(refusal, t, community)];
  const permission = refusal.code === "permission_denied" ? permissionText(textIn(refusal, "required"), t) : undefined;
  return permission === undefined ? fields : [...fields, t("refusal permission", { permission })];
}

type Say = (refusal: ProblemError, t: Translate, community: string | undefined) => string | undefined;

/** What a code says with what its refusal carries; undefined where that says no more than the detail. */
const special: Partial<Record<ProblemCode, Say>> = {
  permission_denied(refusal, t) {
    const required = textIn(refusal, "required");
    const permission = permissionText(required, t);
    if (refusal.detail !== undefined && refusal.detail !== lackText(required, "acting_user")) return undefined;
    return permission === undefined
      ? t("refusal not-allowed")
      : t("refusal permission_denied", { task: taskText(required, t), permission });
  },
  acting_user_not_staff: ({ detail }, t, community) =>
    detail === undefined
      ? t("refusal acting_user_not_staff", { community: community === undefined ? t("refusal community") : escapeText(community) })
      : undefined,
  cannot_grant_unheld({ extra }, t) {
    const unheld = extra?.["unheld"];
    if (!Array.isArray(unheld) || extra?.["missing_in"] === "key") return undefined;
    const permissions = unheld.slice(0, maxListed).map((key) => permissionText(String(key), t) ?? `\`${String(key)}\``);
    return t("refusal cannot_grant_unheld", { permissions: permissions.join(", ") });
  },
  duplicate_open: (refusal, t) => t("refusal duplicate_open", { reference: textIn(refusal, "reference") }),
  duplicate_active_record(refusal, t) {
    const reference = textIn(refusal, "reference");
    if (reference === "" || refusal.detail === undefined) return undefined;
    return `${sentenceText(refusal.detail, t)} ${t("refusal existing", { reference })}`;
  },
  already_decided({ extra }, t) {
    const decision = extra?.["decision"] as { outcome: string; by: string; at: string } | null | undefined;
    if (decision === undefined || decision === null) return undefined;
    const at = `<t:${Math.floor(Date.parse(decision.at) / 1000).toString()}:R>`;
    return t("refusal decided", {
      outcome: valueText(decision.outcome, t),
      by: isSnowflake(decision.by) ? `<@${decision.by}>` : escapeText(decision.by),
      at,
    });
  },
  invalid_transition(refusal, t) {
    const from = textIn(refusal, "from");
    return refusal.detail === undefined && from !== "" ? t("refusal state", { state: valueText(from, t) }) : undefined;
  },
  // The details of these speak to clients of the HTTP API, or to whoever runs the service.
  authorization_required: (_refusal, t) => t("refusal authorization_required"),
  malformed_request: (_refusal, t) => t("refusal malformed_request"),
  discord_error: (_refusal, t) => t("refusal discord_error"),
  storage_readonly: (_refusal, t) => t("refusal storage_readonly"),
};

const maxListed = 10;

function sentenceOf(refusal: ProblemError, t: Translate, community: string | undefined): string {
  if (refusal.cause instanceof ProblemError) return t("refusal confirmed", { why: askerText(refusal.cause, t, community) });
  const said = special[refusal.code]?.(refusal, t, community);
  if (said !== undefined) return said;
  return refusal.detail === undefined ? problemText(refusal.code, t) : sentenceText(refusal.detail, t);
}

/** Why a change that was confirmed was not carried out. Its rights are those of the person who asked, and not of the reader. */
function askerText(refusal: ProblemError, t: Translate, community: string | undefined): string {
  return isDenial(refusal) ? t("refusal asker") : sentenceOf(refusal, t, community);
}

/** What a code says by itself; its title where there is no sentence. */
function problemText(code: ProblemCode, t: Translate): string {
  const keys = [`refusal ${code}`, `problem ${code}`] as Parameters<Translate>[0][];
  const key = keys.find((one) => t(one) !== one);
  return key === undefined ? `${problems[code].title}.` : t(key);
}

function textIn({ extra }: ProblemError, name: string): string {
  const value = extra?.[name];
  return typeof value === "string" ? value : "";
}

/** A stored value as a word. */
function valueText(value: string, t: Translate): string {
  return escapeText(t(`= ${value}`).replaceAll("_", " "));
}
