import { contentIntents } from "../../features/evidence-ground.ts";
import { ending, first, none, opening } from "./case.ts";
import { because, nowhere, why, type Case, type Scene } from "./scene.ts";

const at = `/cases/${first}`;
const body = "Spoke with the reporter";
const changed = "Spoke with both of them";
const spaces = "    ";

/** Keeps the id of the newest of a list of the case. */
const keeping = (name: string, list: string) => async (scene: Scene) => {
  const { body: answer } = await scene.world.get(`${at}/${list}`, { actor: scene.owner });
  scene.kept[name] = answer.data[0].id;
};

const notes: readonly Case[] = [
  {
    entry: "case note",
    by: "senior",
    given: () => ({ case: first }),
    form: () => ({ text: body }),
    http: () => ["POST", `${at}/notes`, { body }],
    wrong: { given: () => ({ case: first }), form: () => ({ text: spaces }), http: () => ["POST", `${at}/notes`, { body: spaces }] },
  },
  {
    entry: "case notes",
    given: () => ({ case: first }),
    http: () => ["GET", `${at}/notes?limit=10`],
    wrong: { given: () => ({ case: "none" }), http: () => ["GET", "/cases/none/notes?limit=10"] },
  },
  {
    entry: "case note-edit",
    by: "senior",
    before: keeping("note", "notes"),
    given: ({ kept }) => ({ case: first, note: kept["note"] ?? "", text: body }),
    // Given beforehand, a text stands in no form: this one is not shown.
    http: ({ kept }) => ["PATCH", `${at}/notes/${kept["note"] ?? ""}`, { body }],
    wrong: {
      given: () => ({ case: first, note: nowhere, text: changed }),
      http: () => ["PATCH", `${at}/notes/${nowhere}`, { body: changed }],
    },
  },
  {
    entry: "case note-edit",
    by: "senior",
    given: ({ kept }) => ({ case: first, note: kept["note"] ?? "", text: changed }),
    http: ({ kept }) => ["PATCH", `${at}/notes/${kept["note"] ?? ""}`, { body: changed }],
  },
  {
    entry: "case note-history",
    given: ({ kept }) => ({ case: first, note: kept["note"] ?? "" }),
    http: ({ kept }) => ["GET", `${at}/notes/${kept["note"] ?? ""}/history?limit=10`],
    wrong: { given: () => ({ case: first, note: "none" }), http: () => ["GET", `${at}/notes/none/history?limit=10`] },
  },
];

const proof = { name: "..\\proof.txt", bytes: Buffer.from("They met at eight.") };

/** Somebody said something that can be kept. */
async function postMessage({ world, ann, kept }: Scene): Promise<void> {
  world.sandbox.setPrivilegedIntents(contentIntents);
  const { id, channelId } = world.sandbox
    .as(ann)
    .in(world.guild)
    .post({ content: "I will raid you", attachments: [{ name: "plan.txt", bytes: Buffer.from("at eight") }] });
  kept["message"] = `https://discord.com/channels/${world.guild.id}/${channelId}/${id}`;
}

const evidence: readonly Case[] = [
  {
    entry: "case evidence",
    given: () => ({ case: first, file: proof, title: "The plan", note: "As it was found", confidential: true }),
    http: () => ["POST", `${at}/evidence`, { title: "The plan", note: "As it was found", confidential: "true" }, { file: proof }],
    wrong: { given: () => ({ case: none, file: proof }), http: () => ["POST", `/cases/${none}/evidence`, {}, { file: proof }] },
  },
  {
    entry: "case evidence",
    by: "senior",
    given: () => ({ case: first, link: "https://example.org/@everyone", title: "A page" }),
    http: () => ["POST", `${at}/evidence`, { kind: "link", url: "https://example.org/@everyone", title: "A page" }],
    wrong: {
      given: () => ({ case: first, link: "ftp://example.org" }),
      http: () => ["POST", `${at}/evidence`, { kind: "link", url: "ftp://example.org" }],
    },
  },
  {
    entry: "case evidence",
    by: "admin",
    before: postMessage,
    given: ({ kept }) => ({ case: first, message: kept["message"] ?? "", note: "In the open" }),
    http: ({ kept }) => ["POST", `${at}/evidence`, { kind: "message", message_url: kept["message"], note: "In the open" }],
    wrong: {
      given: () => ({ case: first, message: "https://example.org/channels" }),
      http: () => ["POST", `${at}/evidence`, { kind: "message", message_url: "https://example.org/channels" }],
    },
  },
  {
    entry: "case evidence",
    given: () => ({ case: first, reference: "CASE-000002" }),
    http: () => ["POST", `${at}/evidence`, { kind: "record", record_ref: "CASE-000002" }],
  },
  {
    entry: "case evidence",
    given: () => ({ case: first }),
    form: () => ({ title: "The witness", note: "Three people saw it" }),
    http: () => ["POST", `${at}/evidence`, { kind: "text", title: "The witness", note: "Three people saw it" }],
    wrong: {
      given: () => ({ case: first }),
      form: () => ({ title: "The witness", note: "" }),
      http: () => ["POST", `${at}/evidence`, { kind: "text", title: "The witness" }],
    },
  },
  {
    entry: "case files",
    given: () => ({ case: first }),
    http: () => ["GET", `${at}/evidence?limit=10`],
    wrong: { given: () => ({ case: none }), http: () => ["GET", `/cases/${none}/evidence?limit=10`] },
  },
  {
    entry: "case piece",
    before: async (scene) => {
      const { body: answer } = await scene.world.get(`${at}/evidence`, { actor: scene.owner });
      scene.kept["piece"] = answer.data.at(-1).id;
    },
    given: ({ kept }) => ({ case: first, piece: kept["piece"] ?? "" }),
    http: ({ kept }) => ["GET", `/evidence/${kept["piece"] ?? ""}`],
    wrong: { given: () => ({ case: first, piece: nowhere }), http: () => ["GET", `/evidence/${nowhere}`] },
  },
  {
    entry: "case file",
    given: ({ kept }) => ({ case: first, piece: kept["piece"] ?? "" }),
    http: ({ kept }) => ["GET", `/evidence/${kept["piece"] ?? ""}/files/0`],
    wrong: {
      given: ({ kept }) => ({ case: first, piece: kept["piece"] ?? "", position: 1 }),
      http: ({ kept }) => ["GET", `/evidence/${kept["piece"] ?? ""}/files/1`],
    },
  },
  {
    entry: "case redact",
    given: ({ kept }) => ({ case: first, piece: kept["piece"] ?? "" }),
    form: why,
    http: ({ kept }) => ["POST", `/evidence/${kept["piece"] ?? ""}/redact`, why()],
    wrong: {
      given: ({ kept }) => ({ case: first, piece: kept["piece"] ?? "" }),
      form: () => ({ reason: spaces }),
      http: ({ kept }) => ["POST", `/evidence/${kept["piece"] ?? ""}/redact`, { reason: spaces }],
    },
  },
];

const actions: readonly Case[] = [
  {
    entry: "case action",
    by: "senior",
    given: ({ bob }) => ({ case: first, kind: "strike", user: bob, points: 3, duration: "P30D" }),
    form: why,
    http: ({ bob }) => ["POST", `${at}/actions`, { kind: "strike", user_id: bob.id, points: 3, duration: "P30D", ...why() }],
    wrong: {
      given: () => ({ case: first, kind: "strike", duration: "soon" }),
      form: why,
      http: () => ["POST", `${at}/actions`, { kind: "strike", duration: "soon", ...why() }],
    },
  },
  {
    entry: "case action",
    given: ({ ann }) => ({ case: first, kind: "warning", user: ann, reason: because }),
    http: ({ ann }) => ["POST", `${at}/actions`, { kind: "warning", user_id: ann.id, ...why() }],
    wrong: {
      given: () => ({ case: first, kind: "warning", reason: because }),
      http: () => ["POST", `${at}/actions`, { kind: "warning", ...why() }],
    },
  },
  { entry: "case actions", by: "admin", given: () => ({ case: first }), http: () => ["GET", `${at}/actions?limit=10`] },
  {
    entry: "case void",
    before: keeping("action", "actions"),
    given: ({ kept }) => ({ case: first, action: kept["action"] ?? "" }),
    form: why,
    http: ({ kept }) => ["POST", `${at}/actions/${kept["action"] ?? ""}/void`, why()],
    wrong: {
      given: () => ({ case: first, action: nowhere }),
      form: why,
      http: () => ["POST", `${at}/actions/${nowhere}/void`, why()],
    },
  },
];

/** `/case`. */
export const caseCases: readonly Case[] = [...opening, ...notes, ...evidence, ...actions, ...ending];
