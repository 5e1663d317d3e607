import { say } from "../../../kit/say.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { Tx } from "../../../database/database.ts";
import { webCall, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import type { Deps } from "../../deps.ts";
import type { KeptFiles, SentFile } from "../../evidence/add.ts";
import type { EvidenceService } from "../../evidence/evidence.service.ts";
import type { CommentView } from "../comments/comments.schema.ts";
import { policyOf } from "../policies/policies.ts";
import { statusAt } from "../requests/workflows.policy.ts";
import type { WorkflowView } from "../requests/workflows.schema.ts";
import type { WorkflowsService } from "../requests/workflows.service.ts";
import { isOpenStatus } from "../state/table.ts";
import { ownDecisions, type OwnDecision } from "./decisions.ts";
import {
  answerForm,
  appealForm,
  fileTypes,
  maxOpen,
  maxPerDay,
  type AnswerForm,
  type AppealForm,
  type Fault,
  type Limit,
} from "./appeal-form.ts";
import type { QuestionsService } from "./questions.service.ts";
import type { QuestionsView } from "./questions.schema.ts";

export interface AppealsService {
  /** What was decided about a person and can be appealed or could be, and their own appeals, newest first. */
  overview(userId: string): Promise<{
    decisions: AppealableDecision[];
    appeals: {
      status: "void" | "denied" | "expired" | "pending" | "escalated" | "approved" | "withdrawn" | "reversed" | "needs_info" | "in_review";
      subjects: {
        requestId: string;
        kind: string;
        subjectId: string;
      }[];
      reference: string;
      expiresAt: Date | null;
      createdAt: Date;
      requesterId: string | null;
      decidedAt: Date | null;
    }[];
  }>;
  /** One decision about a person. @throws ProblemError record_not_found, also for what is about somebody else */
  decision(userId: string, named: string): Promise<AppealableDecision>;
  limitOf(userId: string): Promise<Limit | undefined>;
  /** What the community asks. */
  questions(): Promise<QuestionsView>;
  /**
   * File an appeal for oneself. Bytes are stored before anything is written, and nothing refers to them unless it is.
   * @throws ProblemError record_not_found, rate_limited, duplicate_open, cooldown, storage_full
   */
  file(call: Call, userId: string, named: string, form: AppealForm, sent: SentFiles): Promise<Sent>;
  /** One's own appeal, with what the staff wrote about it. @throws ProblemError record_not_found */
  get(
    requestId: string,
    userId: string,
    key: string,
  ): Promise<{
    view: WorkflowView;
    comments: readonly CommentView[];
  }>;
  /** Answer what the staff ask. @throws ProblemError record_not_found, invalid_transition, storage_full */
  answer(call: Call, userId: string, key: string, form: AnswerForm, sent: SentFiles): Promise<Sent>;
  /** Take an appeal back. @throws ProblemError record_not_found, invalid_transition */
  withdraw(call: Call, key: string): Promise<void>;
}

export interface AppealsDeps extends Deps<"database" | "clock"> {
  guildState: Pick<GuildState, "guilds">;
  workflows: Pick<WorkflowsService, "create" | "decide" | "get" | "comments">;
  evidence: Pick<EvidenceService, "keep" | "typeOf">;
  questions: QuestionsService;
}

/** Whether a decision can be appealed now, and why not. */
export type Chance =
  | { is: "free" }
  /** There is an open appeal already. Its page is for the person who filed it. */
  | { is: "open"; reference: string; isOwn: boolean }
  | { is: "cooling"; until: Date }
  | { is: "over"; until: Date };

export interface AppealableDecision extends OwnDecision {
  /** The names of the servers in whose name it was decided. */
  from: readonly string[];
  chance: Chance;
}

/** The files of a form, and what is wrong with those that were not taken. */
export interface SentFiles {
  files: readonly SentFile[];
  faults: readonly Fault[];
}

/** What a form came to: what it filed, what is wrong with it, or that the decision cannot be appealed now. */
export type Sent = { reference: string } | { faults: readonly Fault[]; limit?: Limit } | { closed: true };

const kind = "appeal";
const day = 86_400;
const maxShown = 50;

/** Appeals of people who were decided about, as they see and file them themselves. */
export function createAppeals({ database, clock, guildState, workflows, evidence, questions }: AppealsDeps): AppealsService {
  const { read } = database;

  /** The appeals of a person, newest first: their own, and those that staff filed for them. */
  const appealsOf = (userId: string) =>
    read.workflowRequest.findMany({
      where: { type: kind, OR: [{ requesterId: userId }, { subjects: { some: { kind: "user", subjectId: userId } } }] },
      select: { reference: true, status: true, expiresAt: true, decidedAt: true, createdAt: true, requesterId: true, subjects: true },
      orderBy: [{ createdAt: "desc" }, { id: "desc" }],
      take: 200,
    });

  async function withChances(userId: string) {
    const now = clock.now();
    const [decisions, appeals, policy] = await Promise.all([ownDecisions(read, userId), appealsOf(userId), policyOf(read, kind)]);

    function chanceOf(decision: OwnDecision): Chance {
      const against = appeals.filter(({ subjects }) =>
        subjects.some((one) => one.kind === "record" && decisions.named(one.subjectId) === decision),
      );
      const open = against.find((one) => isOpenStatus(statusAt(one, now)));
      if (open !== undefined) return { is: "open", reference: open.reference, isOwn: open.requesterId === userId };
      if (decision.appealUntil !== null && decision.appealUntil <= now) return { is: "over", until: decision.appealUntil };
      const denied = against.find(({ status, decidedAt }) => status === "denied" && decidedAt !== null)?.decidedAt;
      const until = denied ? addSeconds(denied, policy.cool_down_seconds) : now;
      return until > now ? { is: "cooling", until } : { is: "free" };
    }

    return { decisions, appeals: appeals.filter(({ requesterId }) => requesterId === userId), chanceOf, now };
  }

  function namesOf({ guildIds }: OwnDecision): string[] {
    const present = guildState.guilds().filter((guild) => guild.present);
    const own = present.filter(({ id }) => guildIds.includes(id));
    return (own.length > 0 ? own : present).map(({ name }) => name);
  }

  async function find(userId: string, named: string): Promise<AppealableDecision> {
    const { decisions, chanceOf } = await withChances(userId);
    const decision = decisions.named(named);
    if (decision === undefined) throw recordNotFound();
    return { ...decision, from: namesOf(decision), chance: chanceOf(decision) };
  }

  /** What keeps a person from filing any appeal now; undefined: nothing. */
  async function limitOf(userId: string): Promise<Limit | undefined> {
    const { appeals, now } = await withChances(userId);
    if (appeals.filter((one) => isOpenStatus(statusAt(one, now))).length >= maxOpen) return { because: "open" };
    const seconds = secondsUntilFewer(appeals.slice(0, maxPerDay), now);
    return seconds === undefined ? undefined : { because: "day", seconds };
  }

  /** What is wrong with some files, seen by their bytes. */
  async function faultsOf({ files, faults }: SentFiles): Promise<Fault[]> {
    const types = await Promise.all(files.map((file) => evidence.typeOf(file)));
    const wrong = files.filter((_, index) => !fileTypes.has(types[index] ?? ""));
    return [...faults, ...wrong.map(({ name }): Fault => ({ field: "files", says: "file-type", values: { name } }))];
  }

  /** Keep files, and write what they belong to together with them. */
  async function withFiles<Written>(
    userId: string,
    files: readonly SentFile[],
    work: (kept: KeptFiles, alongside: (tx: Tx, request: { id: string; reference: string }) => Promise<void>) => Promise<Written>,
  ): Promise<Written> {
    const kept = await evidence.keep(files, clock.now());
    try {
      return await work(kept, (tx, { id, reference }) => kept.addInTx(tx, "request", { id, reference, subjectUserId: userId }));
    } finally {
      kept.release();
    }
  }

  return {
    async overview(userId: string) {
      const { decisions, appeals, chanceOf, now } = await withChances(userId);
      return {
        decisions: decisions.all
          .slice(0, maxShown)
          .map((one): AppealableDecision => ({ ...one, from: namesOf(one), chance: chanceOf(one) })),
        appeals: appeals.slice(0, maxShown).map((one) => ({ ...one, status: statusAt(one, now) })),
      };
    },

    decision: find,

    limitOf,

    questions: (): Promise<QuestionsView> => questions.current(),

    async file(call: Call, userId: string, named: string, form: AppealForm, sent: SentFiles): Promise<Sent> {
      const decision = await find(userId, named);
      if (decision.chance.is !== "free") return { closed: true };
      const limit = await limitOf(userId);
      if (limit !== undefined) return { faults: [], limit };
      const asked = await questions.current();
      const faults = [...appealForm(form, asked), ...(await faultsOf(sent))];
      if (faults.length > 0) return { faults };
      const answers = asked.questions.flatMap(({ question }, index) => {
        const answer = form.answers[index]?.trim() ?? "";
        return answer === "" ? [] : [{ question, answer }];
      });
      return await withFiles(userId, sent.files, async (kept, alongside) => {
        const { reference } = await workflows.create(
          call,
          kind,
          {
            target: decision.target,
            grounds: form.grounds,
            desired_outcome: form.outcome,
            user_id: userId,
            answers,
            evidence: piecesOf(kept),
          },
          {
            async alongside(tx, filed) {
              await requireFew(tx, userId, filed.id);
              await alongside(tx, filed);
            },
          },
        );
        return { reference };
      });
    },

    async get(requestId: string, userId: string, key: string): Promise<{ view: WorkflowView; comments: readonly CommentView[] }> {
      const call = webCall(requestId, userId);
      const view = await workflows.get(call, kind, key);
      const { data } = await workflows.comments.list(call, kind, key, { limit: maxShown });
      return { view, comments: data };
    },

    async answer(call: Call, userId: string, key: string, form: AnswerForm, sent: SentFiles): Promise<Sent> {
      const faults = [...answerForm(form, sent.files.length), ...(await faultsOf(sent))];
      if (faults.length > 0) return { faults };
      const answer = form.answer.trim();
      return await withFiles(userId, sent.files, (kept, alongside) => {
        const body = {
          decision: "provide_info",
          ...(answer !== "" && { answer }),
          ...(sent.files.length > 0 && { evidence: piecesOf(kept) }),
        };
        return workflows.decide(call, kind, key, body, { alongside });
      });
    },

    async withdraw(call: Call, key: string): Promise<void> {
      await workflows.decide(call, kind, key, { decision: "withdraw" });
    },
  };
}

/** How a request names the files that hang on it. */
function piecesOf({ ids }: KeptFiles) {
  return ids.map((id) => ({ kind: "record", title: "File", record_ref: id }));
}

/** Under the lock of who files: nobody floods the staff with appeals. @throws ProblemError rate_limited */
async function requireFew(tx: Tx, userId: string, filedId: string): Promise<void> {
  const recent = await tx.db.workflowRequest.findMany({
    where: { type: kind, requesterId: userId, id: { not: filedId }, createdAt: { gt: addSeconds(tx.now, -day) } },
    select: { createdAt: true },
    orderBy: { createdAt: "desc" },
    take: maxPerDay,
  });
  const retryAfter = secondsUntilFewer(recent, tx.now);
  if (retryAfter !== undefined)
    throw new ProblemError("rate_limited", { detail: say("workflows.you-have-filed-too-many-appeals-today"), retryAfter });
}

/** How long until the oldest of the last appeals of a person is a day old; undefined where it is, or where they are few. */
function secondsUntilFewer(latest: readonly { createdAt: Date }[], now: Date): number | undefined {
  const oldest = latest.at(-1);
  if (oldest === undefined || latest.length < maxPerDay) return undefined;
  const seconds = Math.ceil((addSeconds(oldest.createdAt, day).getTime() - now.getTime()) / 1000);
  return seconds > 0 ? seconds : undefined;
}
