import { say } from "../../kit/say.ts";
import { z } from "zod";
import { routesFor, type Route } from "../../operations/route.ts";
import { idPattern, Snowflake } from "../../kernel/fields.ts";
import { linksPolicy } from "./links.policy.ts";
import {
  ChangedLinkView,
  CreateLinkInput,
  EndLinkBody,
  EndLinkQuery,
  LinkGroupView,
  LinkView,
  ListLinksQuery,
  UpdateLinkInput,
} from "./links.schema.ts";
import type { LinksService } from "./links.service.ts";

const { del, get, patch, post } = routesFor("links");
const path = "/users/{discord_user_id}/links";
const person = z.object({ discord_user_id: Snowflake });
const params = z.object({
  discord_user_id: Snowflake,
  link_id: z
    .string()
    .regex(idPattern, say("links.name-the-link-by-its-id"))
    .transform((id) => id.toLowerCase())
    .meta({ description: "Id of the link", example: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f" }),
});

const example = {
  id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  user_ids: ["80351110224678912", "80351110224678913"],
  other_user_id: "80351110224678913",
  confidence: "probable",
  kind: "suspected_evasion",
  basis: [{ type: "behaviour", note: "Came back an hour after the ban with the same jokes." }],
  propagates: true,
  primary_user_id: "80351110224678912",
  status: "active",
  review_at: "2027-11-20T10:00:00.000Z",
  review_due: false,
  origin_reference: null,
  created_by: "80351110224678914",
  created_at: "2026-11-20T10:00:00.000Z",
  updated_at: "2026-11-20T10:00:00.000Z",
  ended: null,
  revision: 1,
} as const;
const linkExample = { ...example, user_ids: [...example.user_ids], basis: [...example.basis] };
const changedExample = { ...linkExample, matches: { added: 1, changed: 0, removed: 0 } };
const refusals = ["conflict_of_interest", "hierarchy_violation", "invalid_transition"] as const;

/** HTTP routes for linked accounts. */
export function linksRoutes(links: LinksService): Route[] {
  return [...readRoutes(links), ...collectionRoutes(links), ...recordRoutes(links)];
}

function readRoutes(links: LinksService): Route[] {
  return [
    get(path, "listUserLinks", {
      summary: "List the links between an account and others, newest first",
      access: { permission: linksPolicy.read },
      request: { params: person, query: ListLinksQuery },
      success: { status: 200, shape: "list", schema: LinkView, description: "A page of links", example: linkExample },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { discord_user_id: userId }, query }) => links.list(call, userId, query),
    }),
    get(`${path}/group`, "getLinkGroup", {
      summary: "Tell who belongs together with an account",
      description:
        "Everyone reached over confirmed links, then the accounts with a probable link to one of them. Suspicions count for nothing here.",
      access: { permission: linksPolicy.read },
      request: { params: person },
      success: {
        status: 200,
        shape: "single",
        schema: LinkGroupView,
        description: "The group",
        example: {
          user_id: "80351110224678912",
          members: [{ user_id: "80351110224678913", confidence: "confirmed" as const }],
          primary_user_id: "80351110224678912",
        },
      },
      handle: ({ call, params: { discord_user_id: userId } }) => links.group(call, userId),
    }),
  ];
}

function collectionRoutes(links: LinksService): Route[] {
  return [
    post(path, "createUserLink", {
      summary: "Link an account with another",
      description:
        "At most one link of a pair counts. Records about one account concern the other as far as the link propagates: the matches of everybody concerned are compared again. Addresses, devices and fingerprints are refused: 422 `identifying_data`.",
      access: { permission: linksPolicy.manage },
      request: {
        params: person,
        body: CreateLinkInput,
        example: {
          user_id: "80351110224678913",
          confidence: "probable",
          kind: "suspected_evasion",
          basis: [{ type: "behaviour", note: "Came back an hour after the ban with the same jokes." }],
        },
      },
      success: { status: 201, shape: "single", schema: ChangedLinkView, description: "The new link", example: changedExample },
      refusals: ["duplicate_active_record", ...refusals],
      handle: ({ call, params: { discord_user_id: userId }, body }) => links.create(call, userId, body),
    }),
  ];
}

function recordRoutes(links: LinksService): Route[] {
  const success = { status: 200, shape: "single", schema: ChangedLinkView, example: changedExample } as const;
  return [
    patch(`${path}/{link_id}`, "updateUserLink", {
      summary: "Change a link",
      description: "Fields that are not sent stay; grounds are added, never taken away.",
      access: { permission: linksPolicy.manage },
      request: {
        params,
        body: UpdateLinkInput,
        example: { confidence: "confirmed", add_basis: [{ type: "admission", note: "Said so in a ticket." }] },
      },
      success: { ...success, description: "The link as it stands now" },
      refusals: ["record_not_found", "precondition_failed", ...refusals],
      handle: ({ call, params: { discord_user_id: userId, link_id: id }, body, ifMatch }) => links.update(call, userId, id, body, ifMatch),
    }),
    del(`${path}/{link_id}`, "endUserLink", {
      summary: "End a link",
      description: "The link stays readable. The reason stands in the body or in `?reason=`.",
      access: { permission: linksPolicy.manage },
      request: {
        params,
        query: EndLinkQuery,
        body: EndLinkBody,
        bodyOptional: true,
        example: { reason: "They are two people, both seen at once." },
      },
      success: { ...success, description: "The ended link" },
      refusals: ["record_not_found", "precondition_failed", ...refusals],
      handle: ({ call, params: { discord_user_id: userId, link_id: id }, query, body, ifMatch }) =>
        links.end(call, userId, id, { ...query, ...body }, ifMatch),
    }),
  ];
}
