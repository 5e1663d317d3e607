import { say } from "../kit/say.ts";
import type { Verbs, VerbInput } from "../commands/verbs.ts";
import type { Core } from "../core.ts";
import type { ConfirmationsService } from "../features/confirmations/confirmations.service.ts";
import type { KeyStore } from "../features/keys/store.ts";
import { can, requireWrite, type Call } from "../kernel/call.ts";
import { confirmedLimit, confirmedSize, givenLine, inReadingOrder } from "../discord/confirmed-text.ts";
import { cutText } from "../discord/cut-text.ts";
import { type FieldError, ProblemError, validationProblem } from "../kernel/errors.ts";
import { isSnowflake } from "../kernel/fields.ts";
import { isHeld, type HeldView } from "../kernel/held.ts";
import { permissionOf } from "../operations/permission-check.ts";
import { unstorableFields } from "../kernel/validation.ts";
import { spend, budgetOf } from "../operations/rate-limit.ts";
import type { Tool } from "./tools.ts";

export interface HoldingDeps extends Pick<Core, "clock" | "database" | "limiters"> {
  confirmations: Pick<ConfirmationsService, "hold" | "registerOperations">;
  keyStore: Pick<KeyStore, "find">;
  verbs: Verbs;
  tools: ReadonlyMap<string, Tool>;
}

/** What a held call answers: nothing was changed yet. */
interface HeldAnswer {
  success: true;
  code: "confirmation_required";
  data: HeldView;
  next: string;
}

/** Fields that a refusal names. */
const maxFaults = 50;
/** What people need to give their word in Discord. */
const permission = "permissions.read";

/** Calls that wait until the acting user confirms them in Discord, and are then carried out in their name. */
export function createHolding({ clock, database, limiters, confirmations, keyStore, verbs, tools }: HoldingDeps) {
  const inDiscord = (call: Call): Call => ({ ...call, client: null });

  const writes = [...tools].filter(([, { isWrite }]) => isWrite).map(([name]) => name);
  confirmations.registerOperations(writes, async (call, { operation, input, clientId }) => {
    // A key never does more than it may at the moment, and nothing once it is gone.
    const client = clientId === null ? undefined : await keyStore.find(clientId, clock.now(), true);
    if (client === undefined) throw new ProblemError("credential_revoked");
    return await verbs.run(operation, { ...call, client }, input as VerbInput);
  });

  return {
    /** Whether the acting user can give their word in Discord. */
    canConfirm: (call: Call): boolean => can(inDiscord(call), permission),

    /**
     * Everything that is checked before a handler, and then the call is kept.
     * @throws ProblemError as the route refuses
     */
    async hold({ spec }: Tool, call: Call, given: VerbInput): Promise<HeldAnswer> {
      const { operationId, access } = spec;
      verbs.check(operationId, call, given);
      requireWrite(inDiscord(call), permission);
      spend(limiters.write, budgetOf(spec, { clientId: call.client?.id ?? "", actorId: call.actor?.id }, {}), clock.now().getTime());
      // What waits is stored as it was asked for, also what a route reads line by line, or overlooks.
      const { params, query, body } = given;
      const unstorable = [...unstorableFields(params, "path"), ...unstorableFields(query, "query"), ...unstorableFields(body, "body")];
      if (unstorable.length > 0) throw validationProblem(unstorable.slice(0, maxFaults));
      const subjectUserId = subjectOf(given);
      const held = await database.write(call, (tx) =>
        confirmations.hold(tx, {
          action: operationId,
          group: "operation",
          permission: "permission" in access ? permissionOf(access)(given.params ?? {}) : permission,
          input: given,
          summary: shown(say(`operation ${operationId as "updateCase"}`), givenFields(given)),
          ...(subjectUserId !== undefined && { subjectUserId }),
        }),
      );
      if (!isHeld(held)) throw new Error(`${operationId} was not held`);
      const { confirmation_required: data } = held;
      const next = `Nothing was changed. Ask the acting user to read and confirm it in Discord with /confirm show code:${data.code} before ${data.expires_at}.`;
      return { success: true, code: "confirmation_required", data, next };
    },
  };
}

type Given = readonly (readonly [part: FieldError["in"], name: string, line: string])[];

/** Every field that was given, a line each: what a person reads before they confirm. Whom it is about comes first. */
function givenFields({ params = {}, query = {}, body, revision }: VerbInput): Given {
  const isFields = typeof body === "object" && body !== null && !Array.isArray(body);
  const lines = (part: FieldError["in"], fields: object, before = ""): Given =>
    inReadingOrder(fields).map(([name, value]) => [part, name, before + givenLine(name, value)]);
  return [
    ...lines("path", params, "path "),
    ...lines("query", query, "query "),
    ...lines("body", isFields ? body : body === undefined ? {} : { body }),
    ...lines("header", revision === undefined ? {} : { revision }, "with "),
  ];
}

/**
 * What is asked for, as it is confirmed: a sentence and every field.
 * @throws ProblemError validation_failed with the longest fields, where it cannot be shown whole
 */
function shown(summary: string, given: Given): string {
  const whole = [say("mcp.asked-for-by-an-ai-client", { operation: summary }), ...given.map(([, , line]) => line)].join("\n");
  const size = confirmedSize(whole);
  if (size <= confirmedLimit) return whole;
  const byLength = given
    .map(([part, name, line]) => ({ part, name, size: confirmedSize(`\n${line}`) }))
    .toSorted((a, b) => b.size - a.size);
  const tooLong: FieldError[] = [];
  let left = size;
  for (const { part, name, size: own } of byLength) {
    if (left <= confirmedLimit) break;
    left -= own;
    const pointer = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const detail = `This field takes ${own.toString()} characters: shorten it, or split the change.`;
    tooLong.push({ pointer: cutText(pointer, 200), in: part, code: "too_long_to_confirm", detail });
  }
  throw new ProblemError("validation_failed", {
    detail: `A change is confirmed in Discord, where every field is shown whole: this one takes ${size.toString()} characters, and ${confirmedLimit.toString()} have room.`,
    errors: tooLong.slice(0, 20),
  });
}

/** Whom it is done to, as far as a field says. */
function subjectOf({ params = {}, body }: VerbInput): string | undefined {
  const fields: Record<string, unknown> = { ...(typeof body === "object" ? body : {}), ...params };
  const named = ["discord_user_id", "subject_id", "user_id", "primary_user_id", "target_id"].map((name) => fields[name]);
  return named.find((value): value is string => typeof value === "string" && isSnowflake(value));
}
