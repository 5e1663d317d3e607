import { say, serverId } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { countOf, selectIds } from "../../../database/where.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { idsOf, walk, walkedPage, type Condition } from "../../../database/walk.ts";
import { orderOf } from "../../../kernel/keyset.ts";
import { withTotal, type Page } from "../../../kernel/page.ts";
import { draftsPolicy, presentDraft, visibleDraft, type DraftWhere } from "./drafts.policy.ts";
import { findKnown, type DraftRecords } from "./records.ts";
import { DismissDraftInput, ListDraftsQuery, type DraftView, type FiledDraftView } from "./drafts.schema.ts";
import { understand, type Intake } from "../requests/intake.ts";
import { kinds } from "../kinds/kinds.ts";
import type { FileInTx } from "../requests/create.ts";
import { visibleCreation } from "../requests/visibility.ts";

/** The list, as its cursors name it. */
const listName = "drafts";
const order = orderOf("createdAt", "desc");

export interface DraftsService {
  /** The ids of the drafts a caller may not know of. */
  hiddenIds(call: Call, among?: readonly string[]): Promise<string[]>;
  /** Suggested requests, newest first. @throws ProblemError permission_denied, invalid_cursor */
  list(call: Call, query: ListDraftsQuery): Promise<Page<DraftView>>;
  /** @throws ProblemError permission_denied, record_not_found */
  get(call: Call, id: string): Promise<DraftView>;
  /**
   * File a suggested request as the acting person, in one transaction: every rule of a filing holds.
   * @param overrides fields of the request that replace or complete the suggested ones
   * @throws ZodError, ProblemError record_not_found, precondition_failed, invalid_transition, permission_denied for the kind, and as a filing
   */
  file(call: Call, id: string, overrides: Readonly<Record<string, unknown>>, ifMatch?: number): Promise<FiledDraftView>;
  /** Leave a suggested request unfiled. @throws ProblemError record_not_found, precondition_failed, invalid_transition */
  dismiss(
    call: Call,
    id: string,
    input: {
      reason?: string | undefined;
    },
    ifMatch?: number,
  ): Promise<DraftView>;
}

export interface DraftsDeps extends Deps<"database" | "cursors"> {
  workflows: { fileInTx: FileInTx };
  records: DraftRecords;
}

/** Requests that something suggests: they wait until a person files or dismisses them. */
export function createDraftsService({ database, records, workflows, cursors }: DraftsDeps): DraftsService {
  const { knownWhere } = records;

  return {
    async hiddenIds(call: Call, among?: readonly string[]): Promise<string[]> {
      if (among?.length === 0) return [];
      const drafts = among && (await selectIds(database.read, "RequestDraft", { id: { in: among } }));
      if (drafts?.length === 0) return [];
      const asked = drafts === undefined ? {} : { id: { in: drafts } };
      return selectIds(database.read, "RequestDraft", { AND: [asked, { NOT: await knownWhere(call) }] });
    },

    async list(call: Call, query: ListDraftsQuery): Promise<Page<DraftView>> {
      requirePermission(call, draftsPolicy.read);
      const { limit, cursor, count, ...filters } = ListDraftsQuery.parse(query);
      const position = cursor === undefined ? undefined : cursors.decode(listName, filters, cursor);
      const walked = await walk("RequestDraft", {
        conditions: conditions(filters),
        read: database.read,
        order,
        usual: await knownWhere(call),
        position,
        limit,
      });
      const data = walked.rows.map((row) => visibleDraft(call, presentDraft(row)));
      const page = walkedPage(walked, { data, limit }, (reached) => cursors.encode(listName, filters, reached));
      return withTotal(page, { count }, () => countOf(database.read, "RequestDraft", walked.everything));
    },

    async get(call: Call, id: string): Promise<DraftView> {
      requirePermission(call, draftsPolicy.read);
      const row = await findKnown(database.read, id, await knownWhere(call));
      return visibleDraft(call, presentDraft(row));
    },

    async file(call: Call, id: string, overrides: Readonly<Record<string, unknown>>, ifMatch?: number): Promise<FiledDraftView> {
      requireWrite(call, draftsPolicy.read);
      const known = await knownWhere(call);
      const filed = await database.write(call, async (tx) => {
        const row = await records.open(tx, id, { ifMatch, action: "file", known });
        const { type, payload, subject } = presentDraft(row);
        const permission = `workflows.${type}.create` as const;
        requireWrite(call, permission);
        const intake = understand(kinds[type], { payload: { ...payload, ...overrides } });
        requireSubject(type, intake, subject);
        const request = await workflows.fileInTx(tx, type, intake);
        const draft = await records.end(tx, row, { status: "filed", filedReference: request.reference }, { verb: "file", permission });
        return { draft, request };
      });
      return { draft: visibleDraft(call, filed.draft), request: visibleCreation(call, filed.request) };
    },

    async dismiss(call: Call, id: string, input: { reason?: string | undefined }, ifMatch?: number): Promise<DraftView> {
      requireWrite(call, draftsPolicy.dismiss);
      const { reason } = DismissDraftInput.parse(input, { reportInput: true });
      const known = await knownWhere(call);
      return await database.write(call, async (tx) => {
        const row = await records.open(tx, id, { ifMatch, action: "dismiss", known });
        return records.end(tx, row, { status: "dismissed" }, { verb: "dismiss", permission: draftsPolicy.dismiss, reason });
      });
    },
  };
}

/** What is suggested about somebody is not filed about somebody else. */
function requireSubject(type: DraftView["type"], intake: Intake, subject: DraftView["subject"]): void {
  const isAbout = kinds[type].subjects(intake.payload).some(({ kind, id }) => kind === subject.kind && id === subject.id);
  if (!isAbout)
    throw fieldError(
      "",
      "other_subject",
      say(`workflows.suggestion-about-${subject.kind}`, { id: subject.kind === "server" ? serverId(subject.id) : subject.id }),
    );
}

/** What the filters ask of a draft; those whose index finds few come first. */
function conditions({
  status,
  type,
  subject,
}: Omit<ReturnType<typeof ListDraftsQuery.parse>, "limit" | "cursor" | "count">): Condition<DraftWhere>[] {
  return [
    ...(subject === undefined ? [] : [{ where: { subjectId: subject }, ids: idsOf("RequestDraft", { subjectId: [subject] }) }]),
    ...(type === undefined ? [] : [{ where: { type }, ids: idsOf("RequestDraft", { type: [type] }) }]),
    ...(status === "all" ? [] : [{ where: { status }, ids: idsOf("RequestDraft", { status: [status] }), inOrder: { status } }]),
  ];
}
