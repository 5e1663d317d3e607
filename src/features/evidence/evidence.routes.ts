import { say } from "../../kit/say.ts";
import type { Place } from "./hosts.ts";
import { z } from "zod";
import { routesFor, type Route, type UploadSpec } from "../../operations/route.ts";
import { idOrPattern, idPattern, wholeNumber } from "../../kernel/fields.ts";
import { evidencePolicy } from "./evidence.policy.ts";
import { AddEvidenceInput, EvidenceView, ListEvidenceQuery, RedactEvidenceInput, UploadFields } from "./evidence.schema.ts";
import type { EvidenceService } from "./evidence.service.ts";

const { get, post } = routesFor("evidence");
const path = "/evidence/{id}";
const Id = z
  .string()
  .regex(idPattern, say("evidence.name-the-evidence-by-its-id"))
  .transform((id) => id.toLowerCase())
  .meta({ description: "Id of the evidence", example: "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" });
const params = z.object({ id: Id });
/** A record as its own feature takes it: by its id or its number. */
const recordKey = (prefix: string) =>
  z
    .string()
    .regex(idOrPattern(`${prefix}-\\d{6,9}`), say("blacklist.name-the-record-by-its-id-or"))
    .meta({ description: "Id or number of the record", example: `${prefix}-000123` });
const RequestKey = z.string().min(1).max(64).meta({ description: "Id or reference of the request" });
const fileParams = z.object({
  id: Id,
  position: wholeNumber(0, 99).meta({ description: "Which of its files", example: 0 }),
});
const example = { kind: "text", title: "The witness", note: "Three people saw the raid begin at eight." };
const single = { shape: "single", schema: EvidenceView } as const;

/** The records evidence is kept on, each by its own address. */
const records = [
  {
    name: "Case",
    path: "/cases/{id}",
    read: "cases.read",
    add: "cases.read",
    params: z.object({ id: recordKey("CASE") }),
    place: ({ id }: Named): Place => ({ kind: "case", key: id ?? "" }),
  },
  {
    name: "Blacklist",
    path: "/blacklist/{id}",
    read: "blacklist.read",
    add: "blacklist.update",
    params: z.object({ id: recordKey("BL") }),
    place: ({ id }: Named): Place => ({ kind: "blacklist", key: id ?? "" }),
  },
  {
    name: "Workflow",
    path: "/workflows/{type}/{website_id}",
    read: "workflows.read",
    add: "workflows.read",
    params: z.object({ type: z.string().min(1).max(40), website_id: RequestKey }),
    place: ({ type, website_id: key }: Named): Place => ({ kind: "request", key: `${type ?? ""}/${key ?? ""}` }),
  },
] as const;
type Named = Partial<Record<"id" | "type" | "website_id", string>>;
type RecordPlace = (typeof records)[number];

/** HTTP routes for evidence. */
export function evidenceRoutes(evidence: EvidenceService): Route[] {
  return [...records.flatMap((record) => recordRoutes(evidence, record)), ...pieceRoutes(evidence)];
}

function recordRoutes(evidence: EvidenceService, record: RecordPlace): Route[] {
  const upload: UploadSpec = {
    field: "file",
    fields: UploadFields,
    maxBytes: () => evidence.maxBytes,
    folder: () => evidence.arriving,
  };
  return [
    post(`${record.path}/evidence`, `add${record.name}Evidence`, {
      summary: "Add a piece of evidence",
      description:
        "A file comes as `multipart/form-data`; its type is read from its bytes. A message is fetched by the service itself, with its attachments. Addresses are kept as text and never fetched.",
      access: { permission: evidencePolicy.add, also: record.add },
      request: { params: record.params, body: AddEvidenceInput, upload, example },
      success: { status: 201, ...single, description: "The new piece" },
      refusals: [
        "record_not_found",
        "invalid_transition",
        "hierarchy_violation",
        "conflict_of_interest",
        "discord_unavailable",
        "discord_error",
      ],
      handle: ({ call, params: named, body, file }) => evidence.add(call, record.place(named), body, file),
    }),
    get(`${record.path}/evidence`, `list${record.name}Evidence`, {
      summary: "List the evidence of a record, newest first",
      description: "What is confidential is left out for those who may not read it.",
      access: { permission: evidencePolicy.read, also: record.read },
      request: { params: record.params, query: ListEvidenceQuery },
      success: { status: 200, shape: "list", schema: EvidenceView, description: "A page of evidence" },
      refusals: ["record_not_found"],
      handle: ({ call, params: named, query }) => evidence.list(call, record.place(named), query),
    }),
  ];
}

function pieceRoutes(evidence: EvidenceService): Route[] {
  return [
    get(path, "getEvidence", {
      summary: "Read one piece of evidence",
      access: { permission: evidencePolicy.read },
      request: { params },
      success: { status: 200, ...single, description: "The piece" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id } }) => evidence.get(call, id),
    }),
    get(`${path}/files/{position}`, "downloadEvidence", {
      summary: "Download a file of a piece of evidence",
      description: "The bytes as they were kept, to be saved and not shown. They fail to end when they are not what was kept.",
      access: { permission: evidencePolicy.read },
      request: { params: fileParams },
      success: { status: 200, shape: "raw", schema: z.string().meta({ format: "binary" }), hasEtag: true, description: "The bytes" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id, position } }) => evidence.download(call, id, position),
    }),
    post(`${path}/redact`, "redactEvidence", {
      summary: "Remove the content of a piece of evidence",
      description: "Cannot be undone. Its kind, sizes, times and people stay, and the reason; its hash goes with it.",
      access: { permission: evidencePolicy.redact },
      confirmable: true,
      request: { params, body: RedactEvidenceInput, example: { reason: "Shows the home of a bystander." } },
      success: { status: 200, ...single, description: "What is left of it" },
      refusals: ["record_not_found", "invalid_transition", "precondition_failed", "hierarchy_violation", "conflict_of_interest"],
      handle: ({ call, params: { id }, body, ifMatch }) => evidence.redact(call, id, body, ifMatch),
    }),
  ];
}
