import { say } from "../../kit/say.ts";
import { linkBases, linkConfidences, linkKinds } from "../../kernel/vocabulary.ts";
import { z } from "zod";
import { Duration, listQuery, parseDuration, Snowflake, Timestamp, text, isAnonymous, notAnonymous } from "../../kernel/fields.ts";
import { addSeconds } from "../../kernel/clock.ts";

export type Confidence = (typeof linkConfidences)[number];
/** How many grounds a link holds at most, those added later included. */
export const maxBasis = 20;

/** Text that tells no machine from another. */
const anonymous = (min: number, max: number) => text(min, max).refine(isAnonymous, notAnonymous);

export const LinkBasis = z
  .strictObject({
    type: z.enum(linkBases).meta({
      description: "`shared_connection`: a third-party account that both accounts show on their profiles; never a network connection",
    }),
    note: anonymous(3, 500).meta({ description: "What was seen or said. Addresses, devices and fingerprints are refused" }),
  })
  .meta({ id: "LinkBasis", description: "What a link rests on" });
export type LinkBasis = z.infer<typeof LinkBasis>;

const Reason = anonymous(3, 1000);
const changeable = {
  confidence: z.enum(linkConfidences).meta({ description: "Only confirmed links make a group; suspected ones never propagate" }),
  propagates: z.boolean().meta({ description: "Whether records about one account concern the other; never of a suspected link" }),
  review_at: Timestamp.meta({ description: "When the link is to be looked at again; a suspected one ends then" }),
  review_after: Duration.meta({ description: "Instead of review_at" }),
  reason: Reason.meta({ description: "Why; kept in the audit" }),
};

interface Together {
  confidence?: Confidence | undefined;
  propagates?: boolean | undefined;
  review_at?: string | undefined;
  review_after?: string | undefined;
}

/** What a suspected link told to propagate is refused with. */
export const suspectedNeverPropagates = say("links.a-suspected-link-never-propagates");

function checkTogether(input: Together, context: z.RefinementCtx): void {
  if (input.review_at !== undefined && input.review_after !== undefined)
    context.addIssue({ code: "custom", path: ["review_after"], message: say("links.send-review-at-or-review-after-not") });
  if (input.confidence === "suspected" && input.propagates === true)
    context.addIssue({ code: "custom", path: ["propagates"], message: suspectedNeverPropagates });
}

export const CreateLinkInput = z
  .strictObject({
    user_id: Snowflake.meta({ description: "The other account" }),
    confidence: changeable.confidence,
    kind: z.enum(linkKinds),
    basis: z.array(LinkBasis).min(1).max(10),
    primary_user_id: Snowflake.optional().meta({ description: "Which of the two is the main account" }),
    propagates: changeable.propagates.optional(),
    review_at: changeable.review_at.optional(),
    review_after: changeable.review_after.optional(),
    reason: changeable.reason.optional(),
  })
  .superRefine(checkTogether)
  .meta({ id: "CreateLinkInput" });
export type CreateLinkInput = z.input<typeof CreateLinkInput>;

export const UpdateLinkInput = z
  .strictObject({
    ...z.object(changeable).partial().shape,
    add_basis: z.array(LinkBasis).min(1).max(10).optional().meta({ description: "Further grounds; those there are stay" }),
    primary_user_id: Snowflake.nullable().optional(),
  })
  .superRefine(checkTogether)
  .meta({ id: "UpdateLinkInput" });
export type UpdateLinkInput = z.input<typeof UpdateLinkInput>;

export const EndLinkInput = z.strictObject({ reason: Reason.meta({ description: "Why the link ends" }) });
export const EndLinkBody = z.strictObject({ reason: Reason.optional() }).meta({ id: "EndLinkBody" });
export const EndLinkQuery = z.object({ reason: Reason.optional() });

export const ListLinksQuery = z
  .strictObject({
    ...listQuery,
    status: z.enum(["active", "ended", "all"]).default("active").meta({ description: "Links that count, those that are over, or both" }),
    confidence: z.enum(linkConfidences).optional().meta({ description: "Only links this sure", example: "confirmed" }),
  })
  .meta({ id: "ListLinksQuery" });
export type ListLinksQuery = z.input<typeof ListLinksQuery>;

export const LinkView = z
  .object({
    id: z.string(),
    user_ids: z.array(Snowflake).length(2),
    other_user_id: Snowflake.meta({ description: "The account at the other end, seen from the one asked about" }),
    confidence: z.enum(linkConfidences),
    kind: z.enum(linkKinds),
    basis: z.array(z.object({ type: z.enum(linkBases), note: z.string().optional() })),
    propagates: z.boolean(),
    primary_user_id: Snowflake.nullable(),
    status: z.enum(["active", "ended"]),
    review_at: Timestamp.nullable(),
    review_due: z.boolean().meta({ description: "Whether the time for review has passed; such a link still counts" }),
    origin_reference: z.string().nullable().meta({ description: "The request it came from" }),
    created_by: z.string().nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
    ended: z.object({ at: Timestamp, by: z.string().nullable(), reason: z.string().nullable() }).nullable(),
    revision: z.int().positive(),
  })
  .meta({ id: "AccountLink", description: "Two accounts that may belong to one person" });
export type LinkView = z.infer<typeof LinkView>;

export const ChangedLinkView = LinkView.extend({
  matches: z
    .object({ added: z.int(), changed: z.int(), removed: z.int() })
    .meta({ description: "What became of the matches of everybody the link concerns" }),
}).meta({ id: "ChangedAccountLink" });
export type ChangedLinkView = z.infer<typeof ChangedLinkView>;

export const LinkGroupView = z
  .object({
    user_id: Snowflake,
    members: z
      .array(z.object({ user_id: Snowflake, confidence: z.enum(["confirmed", "probable"]) }))
      .meta({ description: "Without the account asked about: the accounts of the same person, then those that probably are" }),
    primary_user_id: Snowflake.nullable().meta({ description: "The main account, as the newest confirmed link that names one has it" }),
  })
  .meta({ id: "LinkGroup" });
export type LinkGroupView = z.infer<typeof LinkGroupView>;

const reviewDays = { suspected: 90, probable: 365, confirmed: 365 } as const satisfies Record<Confidence, number>;

/** When a link is to be looked at again: as told, else after a time that depends on how sure it is. */
export function reviewOf(input: Together, confidence: Confidence, now: Date): Date {
  if (input.review_at !== undefined) return new Date(input.review_at);
  const told = input.review_after === undefined ? undefined : parseDuration(input.review_after);
  return addSeconds(now, told ?? reviewDays[confidence] * 86_400);
}
