import { z } from "zod";
import { headerRef } from "./components.ts";
import { isConditionalRead, mediaTypesOf, type RouteSpec } from "../../operations/route.ts";

const PageInfo = z
  .object({ limit: z.int(), next_cursor: z.string().nullable(), has_more: z.boolean(), total: z.int().optional() })
  .meta({ id: "PageInfo", description: "Where this page stands; `total` only with `count=true`" });

const ListMeta = z
  .object({ as_of: z.iso.datetime().nullable(), stale: z.boolean() })
  .meta({ id: "ListMeta", description: "How fresh the list is" });

const ConfirmationRequired = z
  .object({
    success: z.literal(true),
    code: z.literal("confirmation_required"),
    data: z.object({
      id: z.string(),
      code: z.string().meta({ description: "What the person types or picks in `/confirm`", example: "K7QM2X" }),
      action: z.string().meta({ example: "permissions.users.update" }),
      summary: z.string().meta({ description: "What it will do, in plain words" }),
      needs: z.array(z.enum(["acting_user", "second_person"])).meta({ description: "Who still has to confirm" }),
      status: z.literal("pending"),
      expires_at: z.iso.datetime(),
      key: z.string().optional().meta({ description: "A new API key, shown only now; it works once the change is confirmed" }),
    }),
  })
  .meta({ id: "ConfirmationRequired", description: "Nothing was changed yet: the change waits for a confirmation in Discord" });

/** The answers of a route that did what was asked. */
export function successResponses(spec: RouteSpec) {
  const { success } = spec;
  const told = { schema: bodySchema(success), ...(success.example !== undefined && { example: bodyExample(success) }) };
  const content = Object.fromEntries(mediaTypesOf(success).map((mediaType) => [mediaType, told]));
  const others = Object.entries(success.otherStatuses ?? {}).map(([status, description]) => [
    status,
    { description, content, headers: headersOf(spec) },
  ]);
  return {
    [success.status]: { description: success.description, content, headers: headersOf(spec) },
    ...Object.fromEntries(others),
    ...(spec.confirmable === true && {
      202: {
        description: "`confirmation_required`: nothing was changed yet. `GET` the address in `Location` to see what became of it",
        content: { "application/json": { schema: ConfirmationRequired } },
        headers: headersOf(spec),
      },
    }),
    ...(isConditionalRead(spec) && { 304: { description: "Nothing changed since the known `ETag`" } }),
  };
}

function bodySchema({ shape, schema, notes }: RouteSpec["success"]): z.ZodType {
  if (shape === "single") return z.object({ success: z.literal(true), data: schema });
  if (shape === "list") return z.object({ success: z.literal(true), data: z.array(schema), page: PageInfo, meta: metaSchema(notes) });
  return schema;
}

function metaSchema(notes: z.ZodObject | undefined): z.ZodType {
  return notes === undefined ? ListMeta : ListMeta.extend(notes.shape);
}

/** The example of a view in the envelope its schema has. */
function bodyExample({ shape, example }: RouteSpec["success"]): unknown {
  if (shape === "single") return { success: true, data: example };
  if (shape !== "list") return example;
  const page = { limit: 50, next_cursor: null, has_more: false };
  return { success: true, data: [example], page, meta: { as_of: "2026-11-20T10:00:00.000Z", stale: false } };
}

function headersOf(spec: RouteSpec) {
  const { method, success } = spec;
  return {
    ...((success.shape === "single" || success.hasEtag === true) && { ETag: headerRef("ETag") }),
    ...(success.shape === "list" && { Link: headerRef("Link") }),
    ...(method !== "get" && { "Idempotency-Replayed": headerRef("IdempotencyReplayed") }),
  };
}
