import {
  writtenKinds,
  type CommonParts,
  type ComponentPart,
  type EmbedPart,
  type InnerMessage,
  type MediaPart,
  type MessageParts,
} from "./message-parts.ts";
import { inEnglish, type Translate } from "../kit/say.ts";

/** The text of one of the keys of messages. */
export type SayMessage = Translate;

/** Everything that a message shows, in words. Its files are named, and what was not kept. */
export function wordsOf(message: { content: string; parts: MessageParts }, say: SayMessage = inEnglish): string {
  const { forwards = [], reply_to: reply, reactions = [], gaps = [] } = message.parts;
  const counts = reactions.map(({ emoji, count = 0 }) => `${emojiText(emoji) ?? "?"} ${count.toString()}`);
  return lines([
    ...linesOf(message.content, message.parts, say),
    ...forwards.flatMap((one) => innerLines(say("message forwarded"), one, say)),
    ...(reply === undefined ? [] : replyLines(reply, say)),
    counts.length > 0 && say("message reactions", { reactions: counts.join(", ") }),
    ...gaps.map(({ at, why }) => say(`message gap ${why}`, { at: at === "" ? "…" : at })),
  ]).join("\n");
}

/** What the author of a message showed in it: without what they reply to, and without what others did with it. */
export function ownWordsOf({ content, parts }: { content: string; parts: MessageParts }): string {
  const { reply_to: _, reactions: _others, gaps: _gaps, ...own } = parts;
  return wordsOf({ content, parts: own });
}

function replyLines(reply: InnerMessage, say: SayMessage): string[] {
  const { forwards = [] } = reply;
  const head = innerLines(say("message reply", { user: userText(reply.author_id) }), reply, say);
  return [...head, ...forwards.flatMap((one) => innerLines(say("message forwarded"), one, say)).map(indent)];
}

function innerLines(head: string, message: InnerMessage, say: SayMessage): string[] {
  return [head, ...linesOf(message.content ?? "", message, say).map(indent)];
}

const indent = (line: string): string => `> ${line.replaceAll("\n", "\n> ")}`;
const lines = (given: readonly (string | false | undefined)[]): string[] =>
  given.filter((line): line is string => typeof line === "string" && line !== "");
const userText = (id: string | undefined): string => (id === undefined ? "?" : `<@${id}>`);

function linesOf(content: string, parts: CommonParts, say: SayMessage): string[] {
  const { kind, author, interaction, thread, activity, application, role_subscription: sold, purchase, theme } = parts;
  return lines([
    kind !== undefined && !writtenKinds.has(kind) && say("message kind", { kind: kind.replaceAll("_", " ") }),
    author?.name !== undefined && say("message by", { name: author.display_name ?? author.name }),
    interaction !== undefined && usedText(interaction, say),
    content,
    ...(parts.embeds ?? []).flatMap((embed) => embedLines(embed, say)),
    ...(parts.components ?? []).flatMap((one) => componentLines(one, say)),
    ...pollLines(parts.poll, say),
    ...(parts.stickers ?? []).map(({ name = "?", description }) => say("message sticker", { name: join([name, description]) })),
    ...(parts.attachments ?? []).map((file) => fileText(file, say)),
    parts.call !== undefined && say("message call"),
    thread?.name !== undefined && say("message thread", { name: thread.name }),
    activity !== undefined && say("message activity", { name: join([application?.name, activity.party_id]) }),
    sold !== undefined && say("message subscription", { name: sold.tier ?? "?" }),
    purchase !== undefined && say("message purchase", { name: purchase.product ?? "?" }),
    theme !== undefined && say("message theme", { colors: (theme.colors ?? []).join(", ") }),
  ]);
}

const join = (given: readonly (string | undefined)[]): string => lines(given).join(" – ");

function usedText({ name, user_id: user }: NonNullable<CommonParts["interaction"]>, say: SayMessage): string {
  return name === undefined ? say("message pressed", { user: userText(user) }) : say("message command", { user: userText(user), name });
}

function fileText(file: NonNullable<CommonParts["attachments"]>[number], say: SayMessage): string {
  const { name = "?", title, description, duration_seconds: seconds } = file;
  const called = join([title === undefined ? name : `${title} (${name})`, description]);
  return seconds === undefined ? say("message file", { name: called }) : say("message voice", { name: called, seconds });
}

function embedLines(embed: EmbedPart, say: SayMessage): (string | undefined)[] {
  const { author, provider, footer, title, url, description, fields = [], image, thumbnail, video, components = [] } = embed;
  return [
    join([provider?.name, provider?.url]),
    join([author?.name, author?.url]),
    join([title, url]),
    description,
    ...fields.map(({ name, value }) => [name, value].filter(Boolean).join(": ")),
    ...[image, thumbnail, video].map((media) => mediaText(media, say)),
    ...components.flatMap((one) => componentLines(one, say)),
    join([footer?.text, embed.timestamp]),
  ];
}

function mediaText(media: MediaPart | undefined, say: SayMessage): string | undefined {
  return media === undefined ? undefined : say("message media", { name: join([media.url, media.description]) });
}

function componentLines(component: ComponentPart, say: SayMessage): (string | undefined)[] {
  const { text, label, name, description, placeholder, value, url, emoji, options = [], media = [] } = component;
  const head = join([emojiText(emoji), label, name, placeholder, description, value, url]);
  return [
    text,
    head === "" ? undefined : `[${head}]`,
    ...options.map((option) => `- ${join([emojiText(option.emoji), option.label, option.description])}`),
    ...media.map((one) => mediaText(one, say)),
  ];
}

function pollLines(poll: MessageParts["poll"], say: SayMessage): string[] {
  if (poll === undefined) return [];
  const { question, question_emoji: emoji, answers = [], expires_at: end } = poll;
  return lines([
    say("message poll", { question: join([emojiText(emoji), question]) }),
    ...answers.map(({ text, emoji: mark, votes = 0 }) => `- ${say("message votes", { answer: join([emojiText(mark), text]), votes })}`),
    end !== undefined && say("message poll-end", { at: end }),
  ]);
}

function emojiText(emoji: ComponentPart["emoji"]): string | undefined {
  if (emoji === undefined) return undefined;
  return emoji.id === undefined ? emoji.name : `:${emoji.name ?? emoji.id}:`;
}
