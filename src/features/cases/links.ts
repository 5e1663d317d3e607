import { say } from "../../kit/say.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import type { Database, Tx } from "../../database/database.ts";
import { insertRows } from "../../database/insert.ts";
import { can, requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError, ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { blacklistReference, caseReference } from "../../kernel/parsing.ts";
import { byKey, canSee, casesPolicy, clientWhere, visibleWhere, wholeCase, type Viewer, type WholeCase } from "./cases.policy.ts";
import { presentLink } from "./presenter.ts";
import type { CaseRecords } from "./records.ts";
import { CreateLinkInput, type CaseLinkView, type CaseView, type LinkKind } from "./cases.schema.ts";

const maxLinks = 100;

export interface CaseLinksDeps {
  database: Database;
  records: CaseRecords;
  /** Ids of the requests a caller may not know of. */
  hiddenRequests: (call: Call, among?: readonly string[]) => Promise<readonly string[]>;
}

/** What a case can be linked with. */
export interface Target {
  kind: LinkKind;
  id: string;
  reference: string;
}

/** What cases have to do with other records. */
export function createCaseLinks({ database, records, hiddenRequests }: CaseLinksDeps) {
  /** Which targets of links a caller may know of, as `kind:id`. */
  async function knownTargets(call: Call, links: readonly CaseLinkView[]): Promise<ReadonlySet<string>> {
    const idsOf = (kind: LinkKind): string[] => links.flatMap((link) => (link.kind === kind ? [link.target_id] : []));
    const known = can(call, "blacklist.read") ? idsOf("blacklist").map((id) => `blacklist:${id}`) : [];
    const [cases, requests] = [idsOf("case"), can(call, "workflows.read") ? idsOf("request") : []];
    if (cases.length > 0) {
      const viewer = await records.viewerOf(call, database.read);
      const where = { AND: [clientWhere(visibleWhere(viewer)), { id: { in: cases }, deletedAt: null }] };
      const rows = await database.read.case.findMany({ where, select: { id: true } });
      known.push(...rows.map(({ id }) => `case:${id}`));
    }
    if (requests.length > 0) {
      const hidden = new Set(await hiddenRequests(call, requests));
      known.push(...requests.filter((id) => !hidden.has(id)).map((id) => `request:${id}`));
    }
    return new Set(known);
  }

  return {
    /** Cases as a caller sees them: without links to what they may not know of. */
    async shown(call: Call, views: readonly CaseView[]): Promise<CaseView[]> {
      const links = views.flatMap((view) => view.links);
      if (links.length === 0) return [...views];
      const known = await knownTargets(call, links);
      return views.map((view) => ({ ...view, links: view.links.filter(({ kind, target_id: id }) => known.has(`${kind}:${id}`)) }));
    },

    /**
     * Say what a case has to do with another record.
     * @throws ProblemError record_not_found, invalid_transition, duplicate_active_record, validation_failed (a record that is not there, or that the caller may not know of)
     */
    async link(call: Call, key: string, given: CreateLinkInput): Promise<CaseLinkView> {
      requireWrite(call, casesPolicy.update);
      const { rel, reference } = CreateLinkInput.parse(given);
      const hidden = await hiddenRequests(call);
      return await database.write(call, async (tx) => {
        const row = await records.open(tx, key, casesPolicy.update, { move: "link" });
        const target = await targetOf(tx, await records.viewerOf(call, tx.db), reference, hidden);
        if (target === undefined) throw fieldError("/reference", "unknown_reference", say("cases.there-is-no-such-record"));
        if (target.id === row.id) throw fieldError("/reference", "invalid_value", say("cases.a-case-is-not-linked-with-itself"));
        if (row.links.length >= maxLinks)
          throw fieldError("/reference", "too_many", say("cases.a-case-has-links-at-most", { count: maxLinks }));
        const isThere = row.links.some((link) => link.rel === rel && link.kind === target.kind && link.targetId === target.id);
        if (isThere) throw new ProblemError("duplicate_active_record", { detail: say("cases.the-case-has-this-link-already") });
        return presentLink(await addLink(tx, row, rel, target));
      });
    },

    /**
     * Take a link back.
     * @param ifMatch the revision of the case
     * @returns the link as it was
     * @throws ProblemError record_not_found, precondition_failed, invalid_transition
     */
    async unlink(call: Call, key: string, linkId: string, ifMatch?: number): Promise<CaseLinkView> {
      requireWrite(call, casesPolicy.update);
      return await database.write(call, async (tx) => {
        const row = await records.open(tx, key, casesPolicy.update, { move: "link", ifMatch });
        const link = row.links.find(({ id }) => id === linkId.toLowerCase());
        if (link === undefined) throw recordNotFound();
        await tx.db.caseLink.delete({ where: { id: link.id } });
        const before = await toldOf(tx, link.rel, { kind: link.kind, id: link.targetId, reference: link.reference });
        await records.touch(tx, row, { action: "case.unlink", permission: casesPolicy.update, before });
        return presentLink(link);
      });
    },

    addLink,
  };

  async function addLink(
    tx: Tx,
    row: WholeCase,
    rel: string,
    target: Target,
    permission: PermissionKey = casesPolicy.update,
  ): Promise<WholeCase["links"][number]> {
    const { kind, id, reference } = target;
    const createdBy = tx.call.actor?.id ?? null;
    const link = { id: uuid7(tx.now.getTime()), caseId: row.id, rel, kind, targetId: id, reference, createdBy, createdAt: tx.now };
    await insertRows(tx, "CaseLink", [link]);
    await records.touch(tx, row, { action: "case.link", permission, after: await toldOf(tx, rel, target) });
    return link;
  }
}

/** A link as the audit of its case tells it: that has more readers than a confidential target. */
async function toldOf({ db }: Tx, rel: string, { kind, id, reference }: { kind: string; id: string; reference: string }): Promise<object> {
  const secretCase = kind === "case" && (await db.case.count({ where: { id, isConfidential: true } })) > 0;
  const secretRequest = kind === "request" && (await db.workflowRequest.count({ where: { id, isRestricted: true } })) > 0;
  return { rel, reference: secretCase || secretRequest ? "(hidden)" : reference };
}

/** The record that a reference names, for a caller who may know of it. */
async function targetOf(tx: Tx, viewer: Viewer, reference: string, hidden: readonly string[]): Promise<Target | undefined> {
  if (/^case-/i.test(reference)) {
    const row = await wholeCase(tx, await tx.db.case.findFirst({ where: { ...byKey(reference), deletedAt: null } }));
    return row === null || !canSee(viewer, row) ? undefined : { kind: "case", id: row.id, reference: caseReference(row.number) };
  }
  const number = /^bl-(\d{6,9})$/i.exec(reference)?.[1];
  if (number !== undefined) {
    if (!can(viewer.call, "blacklist.read")) return undefined;
    const row = await tx.db.blacklistRecord.findUnique({ where: { number: Number(number) }, select: { id: true, number: true } });
    return row === null ? undefined : { kind: "blacklist", id: row.id, reference: blacklistReference(row.number) };
  }
  if (!can(viewer.call, "workflows.read")) return undefined;
  const where = { reference: reference.toUpperCase() };
  const row = await tx.db.workflowRequest.findFirst({ where, select: { id: true, reference: true } });
  return row === null || hidden.includes(row.id) ? undefined : { kind: "request", ...row };
}
