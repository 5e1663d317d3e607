import { hash, randomBytes } from "node:crypto";
import { StickerFormatType } from "discord-api-types/v10";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Message, User } from "../../sandbox/index.ts";
import { everyRow, shareWorld, staffAtConsole } from "../contract/world.ts";
import { hasSpec } from "../sandbox/openapi-judge.ts";
import { sampleOf } from "../support/discord-samples.ts";
import { contentIntents, download, listSomebody } from "./evidence-ground.ts";

const shared = shareWorld();
let admin: User;
let witness: User;
let path: string;

beforeAll(async () => {
  admin = await staffAtConsole(shared.world, "admin");
  witness = shared.world.member("witness-name");
});

beforeEach(async () => {
  shared.world.sandbox.setPrivilegedIntents(contentIntents);
  path = await listSomebody(shared.world, admin);
});

const keys = () => shared.world.sandbox.as(witness).in(shared.world.guild);
const capture = ({ channelId, id }: Pick<Message, "channelId" | "id">, actor = admin) =>
  shared.world.post(`${path}/evidence`, { kind: "message", message: { channel_id: channelId, message_id: id } }, { actor });
const kept = async (message: Message) => {
  const { status, body } = await capture(message);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.data;
};

/** What the piece says in Discord, files included. */
async function shownInDiscord(piece: string): Promise<string> {
  const run = await shared.world.sandbox
    .as(admin)
    .in(shared.world.guild)
    .runSlashCommand("blacklist piece", { record: path.split("/").at(-1) ?? "", piece });
  const { content, embeds, attachments } = await run.reply();
  return [content, JSON.stringify(embeds), ...attachments.map(({ text }) => text ?? "")].join("\n").replaceAll("\\", "");
}

describe("a forwarded message", () => {
  test("from a channel that the bot does not see is kept with its text, its files and its sticker", async () => {
    const { world } = shared;
    const elsewhere = world.sandbox.createGuild({ name: "Elsewhere", withBot: false });
    elsewhere.addMember(witness);
    const bytes = randomBytes(900);
    const picture = randomBytes(300);
    const source = world.sandbox
      .as(witness)
      .in(elsewhere)
      .post({
        content: "I know where you live",
        attachments: [{ name: "map.bin", bytes }],
        stickers: [{ name: "knife", bytes: picture, format: StickerFormatType.GIF }],
      });
    const piece = await kept(keys().forward(source));
    expect(piece.message).toMatchObject({
      content: "",
      author_id: witness.id,
      parts: {
        forwards: [
          {
            content: "I know where you live",
            sent_at: expect.any(String),
            attachments: [{ name: "map.bin", bytes: 900, file: 0 }],
            stickers: [{ name: "knife", file: 1 }],
          },
        ],
        reference: { type: 1, channel_id: source.channelId, message_id: source.id },
      },
      attachments: [
        { position: 0, name: "map.bin", sha256: hash("sha256", bytes), status: "stored" },
        { position: 1, name: "knife.gif", sha256: hash("sha256", picture), status: "stored" },
      ],
    });
    expect(piece.message.parts.gaps).toBeUndefined();
    expect(piece.message.text).toContain("Forwarded message:\n> I know where you live");
    expect((await download(world, piece.id, 0, admin)).bytes.equals(bytes)).toBe(true);
    expect((await download(world, piece.id, 1, admin)).bytes.equals(picture)).toBe(true);
    expect(await shownInDiscord(piece.id)).toContain("I know where you live");
    // The hash is of what the database gives back.
    expect((await world.get(`/evidence/${piece.id as string}`, { actor: admin })).body.data).toEqual(piece);
  });

  test("is gone from the whole database once it is redacted", async () => {
    const { world } = shared;
    const source = keys().post({ content: "my-street-name-9", stickers: [{ name: "street-sticker", bytes: randomBytes(50) }] });
    const piece = await kept(keys().forward(source));
    const redacted = await world.post(`/evidence/${piece.id as string}/redact`, { reason: "Names a street." }, { actor: admin });
    expect(redacted.body.data.message).toMatchObject({ content: null, text: null, parts: null, author_id: witness.id });
    expect(JSON.stringify(await everyRow(world))).not.toMatch(/my-street-name-9|street-sticker/);
  });
});

describe("what a message holds besides its text", () => {
  test("is read in Discord and over HTTP: an embed, a poll, components, a sticker, a command, reactions, what it replies to", async () => {
    const { world } = shared;
    const other = world.member("replied-name");
    const said = world.sandbox.as(other).in(world.guild).post({ content: "the question before" });
    const message = keys().post({
      stickers: [{ name: "wave", bytes: Buffer.from("{}"), format: StickerFormatType.Lottie }],
      extra: {
        type: 19,
        flags: 1 << 15,
        webhook_id: "80351110224678955",
        author: { id: witness.id, username: "Captain Hook", global_name: null, avatar: null, bot: true },
        embeds: [
          {
            type: "rich",
            title: "embed-title",
            description: "embed-words",
            fields: [{ name: "field-name", value: "field-value" }],
            footer: { text: "footer-words" },
          },
        ],
        poll: {
          question: { text: "poll-question" },
          answers: [{ answer_id: 1, poll_media: { text: "poll-answer", emoji: { name: "🔥" } } }],
          expiry: null,
          results: { is_finalized: false, answer_counts: [{ id: 1, count: 3, me_voted: false }] },
        },
        components: [
          {
            type: 17,
            components: [
              { type: 10, content: "container-words" },
              {
                type: 1,
                components: [{ type: 3, custom_id: "x", placeholder: "menu-words", options: [{ label: "option-words", value: "o" }] }],
              },
              { type: 12, items: [{ media: { url: "https://example.org/gallery.png" }, description: "gallery-words", spoiler: true }] },
            ],
          },
        ],
        reactions: [{ emoji: { id: null, name: "👍" }, count: 4, me: false }],
        interaction: { id: "1", type: 2, name: "shout", user: { id: other.id, username: "replied-name" } },
        message_reference: { type: 0, channel_id: said.channelId, message_id: said.id },
        referenced_message: {
          id: said.id,
          channel_id: said.channelId,
          type: 0,
          author: { id: other.id, username: "replied-name" },
          content: "the question before",
          timestamp: new Date().toISOString(),
        },
      },
    });
    const piece = await kept(message);
    const words = [
      ["Captain Hook", "embed-title", "embed-words", "field-name: field-value", "footer-words"],
      ["Poll: poll-question", "🔥 – poll-answer: 3 votes", "container-words", "menu-words", "option-words", "gallery-words"],
      ["Sticker: wave", `<@${other.id}> used shout`, "👍 4", `In reply to <@${other.id}>:`, "> the question before"],
    ].flat();
    expect(words.filter((one) => !piece.message.text.includes(one))).toEqual([]);
    const discord = await shownInDiscord(piece.id);
    expect(words.filter((one) => !discord.replaceAll("n> ", "\n> ").includes(one))).toEqual([]);
    expect(JSON.stringify(piece)).not.toContain("replied-name");
    expect(piece.message.attachments).toMatchObject([{ name: "wave.json", mime: "text/plain", bytes: 2, status: "stored" }]);

    // Who wrote what it replies to gets their words, and not those of the others.
    const own = (await world.get(`/users/${other.id}/data-export`, { actor: other.id })).body.data.messages;
    expect(JSON.stringify(own)).toContain("the question before");
    expect(JSON.stringify(own)).not.toContain("embed-words");
  });

  test.skipIf(!hasSpec)("comes back whole from the database, for every part that Discord documents", async () => {
    const { value, leaves } = sampleOf("MessageResponse");
    const { id: _id, channel_id: _channel, author: _author, type: _type, ...extra } = value;
    const piece = await kept(keys().post({ extra }));
    const again = (await shared.world.get(`/evidence/${piece.id as string}`, { actor: admin })).body.data;
    expect(again).toEqual(piece);
    const texts = leaves.filter(({ of }) =>
      /^(Message|Basic\w+|Minimal\w+)Response\.content$|Embed\w*\.(title|description|text|value)$|Poll\w+\.text$|TextDisplay\w+\.content$|(Button|Option|TextInput)\w*\.label$/.test(
        of,
      ),
    );
    expect(texts.length).toBeGreaterThan(20);
    expect(texts.filter((leaf) => !again.message.text.includes(leaf.value)).map(({ at }) => at)).toEqual([]);
  });

  test("is kept as far as it can be read: what cannot is named, and nothing fails", async () => {
    const piece = await kept(
      keys().post({
        extra: {
          content: `before\0after \ud800 ${"x".repeat(12_000)}`,
          timestamp: "0000-99-99T99:99:99Z",
          edited_timestamp: "+275760-09-14T00:00:00.000Z",
          type: 9999,
          flags: 1e300,
          embeds: [
            null,
            "no embed",
            { title: 7, description: "still here", fields: Array.from({ length: 900 }, () => ({ name: "n", value: "v" })) },
          ],
          attachments: [
            { id: "1", filename: "\0big", size: 1e300, url: "nowhere" },
            { filename: null, size: "many", url: null },
          ],
          poll: "no poll",
          sticker_items: { not: "a list" },
          mentions: [{ id: 5 }, null],
          message_snapshots: [{ message: null }, {}, { message: { content: "inner", timestamp: 12, embeds: "x" } }],
          components: Array.from({ length: 300 }, () => ({ type: 17, components: [{ type: 10, content: "deep" }] })),
          hologram: { text: "from the future" },
          ["\ud800\0"]: 1,
        },
      }),
    );
    expect(piece.message.content).toContain("before\ufffdafter \ufffd x");
    expect(piece.message.parts).toMatchObject({ kind: "type_9999", forwards: [{ content: "inner" }] });
    expect(piece.message.parts.embeds).toMatchObject([{ description: "still here" }]);
    expect(piece.message.sent_at).toMatch(/^20/);
    expect(piece.message.edited_at).toBeNull();
    expect(piece.message.attachments).toMatchObject([
      { name: "\ufffdbig", bytes: 2 ** 31 - 1, status: "too_large" },
      { name: "file", bytes: 0, status: "missing" },
    ]);
    const gaps = piece.message.parts.gaps.map(({ at, why }: { at: string; why: string }) => `${why} ${at}`);
    for (const gap of [
      ["cut /content", "replaced /content", "unread /timestamp", "unread /edited_timestamp", "unread /embeds/1", "unread /embeds/2/title"],
      ["cut /embeds/2/fields", "unread /poll", "unread /sticker_items", "unread /mentions/0/id", "unread /attachments/1/size"],
      ["unread /message_snapshots/2/message/timestamp", "cut /components"],
    ].flat())
      expect(gaps).toContain(gap);
    expect(piece.message.parts.gaps.length).toBeLessThanOrEqual(50);
    expect((await shared.world.get(`/evidence/${piece.id as string}`, { actor: admin })).body.data).toEqual(piece);
  });

  test("that this version does not know is named", async () => {
    const piece = await kept(keys().post({ content: "x", extra: { hologram: { text: "from the future" } } }));
    expect(piece.message.parts.gaps).toEqual([{ at: "/hologram", why: "unknown" }]);
    expect(piece.message.text).toContain("/hologram");
  });

  test("is kept by itself where it is a sticker; where Discord hides the text, that is named", async () => {
    const sticker = () => keys().post({ stickers: [{ name: "wave", bytes: randomBytes(20) }] });
    expect((await kept(sticker())).message.parts.gaps).toBeUndefined();
    shared.world.sandbox.setPrivilegedIntents(2);
    expect((await kept(sticker())).message).toMatchObject({ parts: { gaps: [{ at: "/content", why: "hidden" }] } });
  });
});

describe("a message of which nothing can be kept is refused with the true reason", () => {
  const refusal = async (message: Pick<Message, "channelId" | "id">, actor = admin): Promise<string> => {
    const { status, body } = await capture(message, actor);
    expect([status, (await shared.world.get(`${path}/evidence`, { actor: admin })).body.data]).toEqual([422, []]);
    return body.errors[0].detail;
  };

  test("the bot lacks the intent: for a text, and for a forwarded one", async () => {
    shared.world.sandbox.setPrivilegedIntents(2);
    const said = keys().post({ content: "unseen" });
    for (const message of [said, keys().forward(said)]) expect(await refusal(message)).toContain("lacks the Message Content Intent");
  });

  test.each([
    ["a notice of Discord", { type: 7 }, "message of Discord's own (user join)"],
    ["a message that is empty", {}, "This message is empty"],
  ])("%s", async (_name, extra, reason) => {
    const detail = await refusal(keys().post({ extra }));
    expect(detail).toContain(reason);
    expect(detail).not.toMatch(/intent/i);
  });

  test("it was deleted, or the bot may not read the channel, or somebody does not see it", async () => {
    const { world } = shared;
    const gone = keys().post({ content: "gone" });
    keys().deleteMessage(gone);
    expect(await refusal(gone)).toContain("it was deleted");
    const unread = keys().post({ content: "unread" });
    world.sandbox.faults.rest({ route: "GET /channels/:id/messages/:id", status: 403, times: 1 });
    expect(await refusal(unread)).toContain("may not read messages in this channel");
    const channel = world.guild.createChannel("owners", { hiddenFrom: [world.guild.everyoneRole] });
    const other = await world.staff("admin");
    expect(await refusal(keys().post({ content: "hidden", channel }), other)).toContain("the bot or you do not see it");
  });
});
