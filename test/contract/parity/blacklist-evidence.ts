import { because, nowhere, why, type Case, type Scene } from "./scene.ts";

const none = "BL-999999";
const file = { name: "list.txt", bytes: Buffer.from("Ann, Bob and two more") };
const at = ({ kept }: Scene, name: string): string => kept[name] ?? "";
const place = (scene: Scene): string => `/blacklist/${at(scene, "record")}/evidence`;
const record = (scene: Scene) => ({ record: at(scene, "record") });

async function listSomebody({ world, owner, bob, kept }: Scene): Promise<void> {
  const { body } = await world.post("/blacklist", { kind: "user", subject_id: bob.id }, { actor: owner });
  kept["record"] = kept["listed"] = body.data.number;
}

/** Somebody writes something that is worth keeping. */
async function post({ world, bob, kept }: Scene): Promise<void> {
  world.sandbox.setPrivilegedIntents((1 << 1) | (1 << 15));
  const message = world.sandbox
    .as(bob)
    .in(world.guild)
    .post({ content: "I will raid you", attachments: [{ name: "plan.txt", bytes: Buffer.from("at eight") }] });
  kept["message"] = `https://discord.com/channels/${world.guild.id}/${message.channelId}/${message.id}`;
}

export const blacklistEvidence: readonly Case[] = [
  {
    entry: "blacklist evidence",
    before: listSomebody,
    given: (scene) => ({ ...record(scene), file, title: "The list", note: "Found in the channel", confidential: true }),
    http: (scene) => ["POST", place(scene), { title: "The list", note: "Found in the channel", confidential: "true" }, { file }],
    wrong: {
      // A piece is one thing.
      given: (scene) => ({ ...record(scene), file, link: "https://example.org/raid" }),
      http: (scene) => ["POST", place(scene), { url: "https://example.org/raid" }, { file }],
    },
  },
  {
    entry: "blacklist evidence",
    by: "senior",
    given: record,
    form: () => ({ title: "The witness", note: "Three people saw it" }),
    http: (scene) => ["POST", place(scene), { kind: "text", title: "The witness", note: "Three people saw it" }],
    wrong: {
      given: record,
      form: () => ({ title: "Without a word" }),
      http: (scene) => ["POST", place(scene), { kind: "text", title: "Without a word" }],
    },
  },
  {
    entry: "blacklist evidence",
    by: "senior",
    given: (scene) => ({ ...record(scene), link: "https://example.org/raid", note: "Their page" }),
    http: (scene) => ["POST", place(scene), { kind: "link", url: "https://example.org/raid", note: "Their page" }],
    wrong: {
      given: (scene) => ({ ...record(scene), link: "gopher://example.org" }),
      http: (scene) => ["POST", place(scene), { kind: "link", url: "gopher://example.org" }],
    },
  },
  {
    entry: "blacklist evidence",
    by: "admin",
    before: post,
    given: (scene) => ({ ...record(scene), message: at(scene, "message"), title: "The threat" }),
    http: (scene) => ["POST", place(scene), { kind: "message", message_url: at(scene, "message"), title: "The threat" }],
    wrong: {
      given: (scene) => ({ ...record(scene), message: "https://example.org/1/2/3", reference: "CASE-000001" }),
      http: (scene) => ["POST", place(scene), { kind: "message", message_url: "https://example.org/1/2/3", record_ref: "CASE-000001" }],
    },
  },
  {
    entry: "blacklist evidence",
    given: (scene) => ({ ...record(scene), reference: "CASE-000001" }),
    http: (scene) => ["POST", place(scene), { kind: "record", record_ref: "CASE-000001" }],
    wrong: {
      given: (scene) => ({ ...record(scene), reference: "   " }),
      http: (scene) => ["POST", place(scene), { kind: "record", record_ref: "   " }],
    },
  },
  {
    entry: "blacklist evidence",
    by: "admin",
    given: (scene) => ({ ...record(scene), file: { name: "two.txt", bytes: Buffer.from("Two") } }),
    http: (scene) => ["POST", place(scene), {}, { file: { name: "two.txt", bytes: Buffer.from("Two") } }],
    wrong: { given: () => ({ record: none, file }), http: () => ["POST", `/blacklist/${none}/evidence`, {}, { file }] },
  },
  {
    entry: "blacklist files",
    by: "senior",
    given: record,
    http: (scene) => ["GET", `${place(scene)}?limit=10`],
    wrong: { given: () => ({ record: none }), http: () => ["GET", `/blacklist/${none}/evidence?limit=10`] },
  },
  {
    entry: "blacklist piece",
    before: async (scene) => {
      const { body } = await scene.world.get(place(scene), { actor: scene.owner });
      const pieces = body.data as { id: string; kind: string }[];
      for (const { id, kind } of pieces) scene.kept[kind] = id;
    },
    given: (scene) => ({ ...record(scene), piece: at(scene, "file") }),
    http: (scene) => ["GET", `/evidence/${at(scene, "file")}`],
    wrong: { given: (scene) => ({ ...record(scene), piece: "none" }), http: () => ["GET", "/evidence/none"] },
  },
  {
    entry: "blacklist file",
    given: (scene) => ({ ...record(scene), piece: at(scene, "file") }),
    http: (scene) => ["GET", `/evidence/${at(scene, "file")}/files/0`],
    wrong: {
      given: (scene) => ({ ...record(scene), piece: at(scene, "file"), position: 7 }),
      http: (scene) => ["GET", `/evidence/${at(scene, "file")}/files/7`],
    },
  },
  {
    entry: "blacklist redact",
    by: "admin",
    given: (scene) => ({ record: at(scene, "listed"), piece: at(scene, "message") }),
    form: why,
    http: (scene) => ["POST", `/evidence/${at(scene, "message")}/redact`, why()],
    wrong: {
      given: (scene) => ({ ...record(scene), piece: nowhere, reason: because }),
      http: () => ["POST", `/evidence/${nowhere}/redact`, why()],
    },
  },
];
