import { scrubs } from "./scrubs.ts";
import type { Registry } from "./types.ts";

const service = { redaction: "service", shown: { not: "copy" } } as const;
const ofCase = { redaction: { stays: "case" }, shown: { not: "staff" } } as const;
const ofRecord = { redaction: { stays: "blacklist" }, shown: { not: "staff" } } as const;
const ofEvidence = { redaction: { stays: "evidence" }, shown: { not: "staff" } } as const;
const aboutCase = (userId: string, createdAt: { lte?: Date }) => ({ subjects: { some: { kind: "user", subjectId: userId } }, createdAt });

/** Moderation records, the audit, and the service itself. */
export const recordColumns = {
  Setting: { columns: { key: "code", value: "other" } },
  Counter: { columns: { name: "code", head: "hash" } },
  IdempotencyRecord: {
    about: (subjectId, createdAt) => ({ subjects: { some: { subjectId } }, createdAt }),
    columns: { scope: "code", fingerprint: "hash", body: service },
  },
  IdempotencySubject: { columns: { scope: "code" } },
  ApiKey: {
    columns: {
      name: "other",
      scopes: "code",
      delegation: "code",
      publicKey: "other",
      ipAllowlist: "other",
      makers: "id",
      rotatedFrom: "id",
    },
  },
  Owner: { columns: {} },
  StaffRole: { columns: { key: "code", name: "other", level: "code", callsignPool: "code" } },
  StaffRoleDiscordRole: { columns: { staffRoleKey: "code" } },
  RolePermission: { columns: { staffRoleKey: "code", permission: "code", effect: "code" } },
  Confirmation: {
    // What is pending ends with the redaction; the one that is being carried out is the redaction itself.
    about: (subjectUserId, createdAt) => ({ subjectUserId, createdAt, status: { not: "pending" } }),
    columns: {
      code: "code",
      action: "code",
      input: { redaction: { becomes: {} }, shown: { not: "staff" } },
      summary: "sentence",
      permission: "code",
      needs: "code",
      keys: "code",
      status: "code",
      answers: { redaction: { loses: scrubs.answerReasons }, shown: { not: "staff" } },
      failure: "code",
    },
  },
  OutboxEvent: { columns: { type: "code", permission: "code", data: "id" } },
  Guild: { columns: { name: "other", icon: "other" } },
  GuildRole: { columns: { name: "other" } },
  Server: {
    about: (_userId, createdAt) => ({ createdAt }),
    isRevised: true,
    columns: {
      hash: "hash",
      name: "other",
      icon: "other",
      status: "code",
      mergedInto: "id",
      contacts: { redaction: { loses: scrubs.contact }, shown: { not: "staff" } },
      tags: "other",
      note: "other",
      inviteCode: "other",
      inviteStatus: "code",
    },
  },
  ServerAlias: { columns: {} },
  Agreement: { columns: { covers: "code", terms: "other", status: "code", endReason: "other" } },
  AgreementParty: { columns: {} },
  Erasure: { columns: { kind: "code" } },
  BlacklistRecord: {
    about: (subjectId, createdAt) => ({ kind: "user", subjectId, createdAt }),
    columns: {
      kind: "code",
      subjectName: { redaction: "service", shown: "blacklist" },
      scope: "code",
      serverIds: "id",
      activeKey: "id",
      category: "code",
      severity: "code",
      status: "code",
      reasonPublic: { redaction: { stays: "blacklist" }, shown: "blacklist" },
      reasonInternal: ofRecord,
      recommendedAction: "code",
      memberPolicy: "code",
      exemptUserIds: "id",
      includeAlts: "code",
      evidence: ofRecord,
      tags: ofRecord,
      source: "code",
      revokeReason: ofRecord,
    },
  },
  BlacklistVersion: {
    about: (subjectId, createdAt) => ({ record: { kind: "user", subjectId, createdAt } }),
    columns: { snapshot: { ...ofRecord, shown: { not: "copy" } } },
  },
  BlacklistWord: {
    about: (subjectId, createdAt) => ({ record: { kind: "user", subjectId, createdAt } }),
    columns: { word: service },
  },
  BlacklistChange: { columns: { what: "code", kind: "code", category: "code" } },
  FollowedList: {
    columns: {
      name: "other",
      kind: "code",
      address: "other",
      key: "sealed",
      categories: "code",
      state: "code",
      problem: "sentence",
      cursor: "other",
      taken: "id",
    },
  },
  FollowedEntry: {
    columns: { number: "id", kind: "code", subject: "id", category: "code", severity: "code", recommendedAction: "code" },
  },
  Webhook: {
    columns: {
      name: "other",
      url: "other",
      types: "code",
      secret: "sealed",
      formerSecret: "sealed",
      state: "code",
      problem: "sentence",
    },
  },
  WebhookDelivery: { columns: { kind: "code", type: "code", problem: "sentence" } },
  Case: {
    about: aboutCase,
    columns: {
      type: "code",
      title: ofCase,
      status: "code",
      priority: "code",
      policies: "other",
      outcome: "code",
      outcomeReason: ofCase,
    },
  },
  CaseSubject: {
    about: (subjectId, createdAt) => ({ kind: "user", subjectId, case: { createdAt } }),
    columns: { kind: "code", name: { redaction: { becomes: null }, shown: "cases" } },
  },
  CaseMember: { columns: {} },
  CaseLabel: { about: (userId, older) => ({ case: aboutCase(userId, older) }), columns: { label: ofCase } },
  CaseNote: { about: (userId, older) => ({ case: aboutCase(userId, older) }), columns: { body: ofCase } },
  CaseNoteVersion: { about: (userId, older) => ({ note: { case: aboutCase(userId, older) } }), columns: { body: ofCase } },
  CaseAction: {
    about: (userId, at) => ({ userId, at }),
    columns: { kind: "code", reason: ofCase, effectRef: ofCase, notice: "code", voidReason: ofCase },
  },
  CaseLink: { columns: { rel: "code", kind: "code", reference: "id" } },
  CaseTemplate: { columns: { key: "code", content: "other" } },
  CaseWord: { about: (userId, older) => ({ case: aboutCase(userId, older) }), columns: { source: "id", word: ofCase } },
  EvidenceItem: {
    about: "message.author_id",
    columns: {
      recordKind: "code",
      kind: "code",
      title: ofEvidence,
      note: ofEvidence,
      url: ofEvidence,
      recordRef: "id",
      message: { redaction: { stays: "evidence" }, shown: "messages" },
      commitment: "hash",
      salt: "hash",
      redactReason: ofEvidence,
    },
  },
  EvidenceFile: {
    about: "message.author_id of its piece",
    columns: { name: ofEvidence, mime: "code", sha256: "hash", status: "code" },
  },
  EvidenceChunk: { columns: { sha256: "hash" } },
  AuditEntry: {
    columns: {
      action: "code",
      outcome: "code",
      via: "code",
      targetKind: "code",
      permissionUsed: "code",
      payloadCommitment: "hash",
      erased: "code",
      hash: "hash",
    },
  },
  AuditPayload: {
    about: "subject_user_id of its entry",
    columns: { salt: "hash", payload: { redaction: "service", shown: { not: "staff" } } },
  },
  NativeAction: {
    about: (userId, recordedAt) => ({ userId, recordedAt }),
    columns: { kind: "code", reason: { redaction: { becomes: null }, shown: { not: "staff" } } },
  },
  AlertPosition: { columns: {} },
  NativeLogPosition: { columns: {} },
  ReviewCard: { columns: { shown: "hash" } },
} as const satisfies Partial<Registry>;
