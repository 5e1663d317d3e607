import { filtered } from "./case-lists.ts";
import { because, linkAccounts, why, type Case, type Scene } from "./scene.ts";

/** Cases are numbered from 1 in either world. */
export const [first, second, none] = ["CASE-000001", "CASE-900000001", "CASE-999999"] as const;
const server = "80351110224678912";

/** What an HTTP request says of the revision it means. */
const meant = (revision: number) => ({ headers: { "if-match": `"v${revision.toString()}"` } });
const notThere = { given: () => ({ case: none }) };

const templates: readonly Case[] = [
  {
    entry: "case template put",
    given: () => ({ template: "raid", title: "A raid", type: "punishment", priority: "high", labels: "raid, lobby", due: "7d", points: 2 }),
    http: () => [
      "PUT",
      "/cases/templates/raid",
      { title: "A raid", type: "punishment", priority: "high", labels: ["raid", "lobby"], due: "7d", points: 2 },
    ],
    wrong: {
      given: () => ({ template: "No Such", due: "soon" }),
      http: () => ["PUT", "/cases/templates/No%20Such", { due: "soon" }],
    },
  },
  {
    // A second time it is replaced: what is not given is no longer there.
    entry: "case template put",
    given: () => ({ template: "raid", title: "A raid of many", type: "punishment", labels: "raid", due: "P30D", revision: 1 }),
    http: () => ["PUT", "/cases/templates/raid", { title: "A raid of many", type: "punishment", labels: ["raid"], due: "P30D" }, meant(1)],
    wrong: {
      given: () => ({ template: "raid", revision: 7 }),
      http: () => ["PUT", "/cases/templates/raid", {}, meant(7)],
    },
  },
  {
    entry: "case template show",
    by: "senior",
    given: () => ({ template: "raid" }),
    http: () => ["GET", "/cases/templates/raid"],
    wrong: { given: () => ({ template: "none" }), http: () => ["GET", "/cases/templates/none"] },
  },
  { entry: "case template list", by: "senior", http: () => ["GET", "/cases/templates?limit=10"] },
];

const begun: readonly Case[] = [
  {
    entry: "case open",
    given: ({ ann, bob, senior, admin }) => ({
      user: ann,
      title: "Odd @everyone in the lobby",
      type: "general",
      priority: "high",
      users: `<@${bob.id}>, ${ann.id}`,
      servers: server,
      lead: senior,
      team: admin.id,
      labels: "Lobby, raid",
      due: "30d",
    }),
    http: ({ ann, bob, senior, admin }) => [
      "POST",
      "/cases",
      {
        title: "Odd @everyone in the lobby",
        type: "general",
        priority: "high",
        subjects: [...[ann, bob].map(({ id }) => ({ kind: "user", id })), { kind: "server", id: server }],
        lead: senior.id,
        team: [admin.id],
        labels: ["Lobby", "raid"],
        due: "30d",
      },
    ],
    wrong: {
      given: ({ bob }) => ({ title: "About nobody", lead: bob, labels: "two words" }),
      http: ({ bob }) => ["POST", "/cases", { title: "About nobody", lead: bob.id, labels: ["two words"], subjects: [] }],
    },
  },
  {
    entry: "case open",
    by: "admin",
    given: ({ bob }) => ({ user: bob, template: "raid", confidential: true }),
    http: ({ bob }) => ["POST", "/cases", { subjects: [{ kind: "user", id: bob.id }], template: "raid", confidential: true }],
    wrong: {
      given: ({ bob }) => ({ user: bob, template: "none" }),
      http: ({ bob }) => ["POST", "/cases", { subjects: [{ kind: "user", id: bob.id }], template: "none" }],
    },
  },
  {
    entry: "case edit",
    given: ({ owner, ann, admin }) => ({
      case: second,
      revision: 1,
      title: "Nothing to hide",
      status: "active",
      type: "investigation",
      priority: "critical",
      lead: admin,
      team: `${owner.id} <@${admin.id}>`,
      labels: "open, calm",
      confidential: false,
      users: ann.id,
      servers: server,
    }),
    http: ({ owner, ann, admin }) => [
      "PATCH",
      `/cases/${second}`,
      {
        title: "Nothing to hide",
        status: "active",
        type: "investigation",
        priority: "critical",
        lead: admin.id,
        team: [owner.id, admin.id],
        labels: ["open", "calm"],
        confidential: false,
        subjects: [
          { kind: "user", id: ann.id },
          { kind: "server", id: server },
        ],
      },
      meant(1),
    ],
    wrong: {
      given: () => ({ case: second, revision: 7, title: "Too late" }),
      http: () => ["PATCH", `/cases/${second}`, { title: "Too late" }, meant(7)],
    },
  },
  {
    // Whoever is about to lead it has to be staff.
    entry: "case edit",
    by: "senior",
    given: () => ({ case: first, status: "active" }),
    http: () => ["PATCH", `/cases/${first}`, { status: "active" }],
    wrong: {
      given: ({ bob }) => ({ case: first, lead: bob }),
      http: ({ bob }) => ["PATCH", `/cases/${first}`, { lead: bob.id }],
    },
  },
  {
    entry: "case show",
    by: "senior",
    given: () => ({ case: first.toLowerCase() }),
    http: () => ["GET", `/cases/${first}`],
    wrong: { ...notThere, http: () => ["GET", `/cases/${none}`] },
  },
  {
    entry: "case list",
    by: "senior",
    given: ({ ann, senior }) => ({
      mine: true,
      status: "active",
      type: "general",
      priority: "high",
      lead: senior,
      subject: `<@${ann.id}>`,
      label: "raid",
      overdue: false,
      q: "lobby",
      sort: "due_at",
    }),
    http: ({ ann, senior }) => [
      "GET",
      `/cases?limit=10&member=@me&status=active&type=general&priority=high&lead=${senior.id}&subject=${ann.id}&label=raid&overdue=false&q=lobby&sort=due_at`,
    ],
    wrong: { given: () => ({ alts: true }), http: () => ["GET", "/cases?limit=10&include_alts=true"] },
  },
];

const linkAt = async (scene: Scene): Promise<void> => {
  const { body } = await scene.world.get(`/cases/${first}`, { actor: scene.owner });
  scene.kept["link"] = body.data.links[0].id;
};

const linked: readonly Case[] = [
  {
    entry: "case link",
    given: () => ({ case: first, reference: second.toLowerCase(), rel: "duplicates" }),
    http: () => ["POST", `/cases/${first}/links`, { rel: "duplicates", reference: second.toLowerCase() }],
    wrong: {
      given: () => ({ case: first, reference: none }),
      http: () => ["POST", `/cases/${first}/links`, { rel: "related", reference: none }],
    },
  },
  {
    entry: "case unlink",
    by: "admin",
    before: linkAt,
    given: () => ({ case: first, reference: second }),
    http: ({ kept }) => ["DELETE", `/cases/${first}/links/${kept["link"] ?? ""}`],
    wrong: {
      given: () => ({ case: none, reference: second }),
      http: ({ kept }) => ["DELETE", `/cases/${none}/links/${kept["link"] ?? ""}`],
    },
  },
];

const ended: readonly Case[] = [
  {
    entry: "case close",
    by: "senior",
    given: () => ({ case: first, outcome: "resolved" }),
    form: why,
    http: () => ["POST", `/cases/${first}/close`, { outcome: "resolved", ...why() }],
    wrong: {
      given: () => ({ case: first, outcome: "substantiated" }),
      form: () => ({}),
      http: () => ["POST", `/cases/${first}/close`, { outcome: "substantiated" }],
    },
  },
  {
    entry: "case close",
    given: () => ({ case: second, outcome: "partly", reason: because, revision: 2 }),
    http: () => ["POST", `/cases/${second}/close`, { outcome: "partly", ...why() }, meant(2)],
    wrong: {
      given: () => ({ case: second, outcome: "partly", reason: because, revision: 1 }),
      http: () => ["POST", `/cases/${second}/close`, { outcome: "partly", ...why() }, meant(1)],
    },
  },
  {
    entry: "case reopen",
    given: () => ({ case: second, revision: 3 }),
    form: why,
    http: () => ["POST", `/cases/${second}/reopen`, why(), meant(3)],
    wrong: {
      given: () => ({ case: second, revision: 2 }),
      form: () => ({ reason: "    " }),
      http: () => ["POST", `/cases/${second}/reopen`, { reason: "    " }, meant(2)],
    },
  },
  {
    entry: "case history",
    by: "admin",
    given: () => ({ case: second }),
    http: () => ["GET", `/cases/${second}/timeline?limit=10`],
    wrong: { ...notThere, http: () => ["GET", `/cases/${none}/timeline?limit=10`] },
  },
  ...filtered,
  {
    entry: "case list",
    before: linkAccounts,
    given: ({ bob }) => ({ subject: bob.id, alts: true }),
    http: ({ bob }) => ["GET", `/cases?limit=10&subject=${bob.id}&include_alts=true`],
  },
  {
    entry: "case delete",
    given: () => ({ case: second, revision: 4 }),
    form: why,
    http: () => ["DELETE", `/cases/${second}`, why(), meant(4)],
    wrong: {
      given: () => ({ case: second, revision: 3 }),
      form: why,
      http: () => ["DELETE", `/cases/${second}`, why(), meant(3)],
    },
  },
  {
    entry: "case list",
    given: () => ({ deleted: true }),
    http: () => ["GET", "/cases?limit=10&deleted=true"],
  },
  {
    entry: "case restore",
    given: () => ({ case: second }),
    http: () => ["POST", `/cases/${second}/restore`],
    wrong: { given: () => ({ case: first }), http: () => ["POST", `/cases/${first}/restore`] },
  },
  {
    entry: "case timeline",
    given: ({ bob }) => ({ user: bob, kind: "case", alts: true }),
    http: ({ bob }) => ["GET", `/users/${bob.id}/timeline?limit=10&kind=case&include_alts=true`],
  },
  {
    entry: "case template delete",
    given: () => ({ template: "raid" }),
    http: () => ["DELETE", "/cases/templates/raid"],
    wrong: { given: () => ({ template: "none" }), http: () => ["DELETE", "/cases/templates/none"] },
  },
];

/** Before and after what is done within a case. */
export const [opening, ending] = [
  [...templates, ...begun],
  [...linked, ...ended],
];
