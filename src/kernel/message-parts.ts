import { z } from "zod";
import { Timestamp } from "./fields.ts";

/** Of the parts of one message; Discord's own limits are below these. */
export const messageLimits = {
  /** Characters of one text, and of all texts together. */
  text: 10_000,
  allText: 120_000,
  attachments: 10,
  /** Files whose bytes are fetched, of the message and of the messages in it together. */
  files: 40,
  embeds: 25,
  fields: 25,
  components: 200,
  depth: 8,
  options: 25,
  items: 100,
  gaps: 50,
} as const;

/** Types of messages that people and bots write, by their kind; all others are Discord's own. */
export const writtenKinds: ReadonlySet<string> = new Set([
  "default",
  "reply",
  "chat_input_command",
  "context_menu_command",
  "thread_starter_message",
]);

/** An object of which each part is there when the message has it. */
const parts = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).partial();

const file = z.int().meta({ description: "Position among the files of the piece, which have the bytes" });

const EmojiPart = parts({ id: z.string(), name: z.string(), animated: z.boolean() });
const ApplicationPart = parts({ id: z.string(), name: z.string(), description: z.string() });

const AttachmentPart = parts({
  id: z.string(),
  name: z.string(),
  title: z.string(),
  description: z.string(),
  content_type: z.string(),
  bytes: z.number(),
  width: z.number(),
  height: z.number(),
  duration_seconds: z.number(),
  waveform: z.string().meta({ description: "Of a voice message, as Discord draws it" }),
  ephemeral: z.boolean(),
  flags: z.number(),
  clip_created_at: Timestamp,
  clip_participants: z.array(z.string()),
  application: ApplicationPart,
  file,
});

const MediaPart = parts({
  url: z.string(),
  description: z.string(),
  content_type: z.string(),
  width: z.number(),
  height: z.number(),
  flags: z.number(),
  attachment_id: z.string(),
  spoiler: z.boolean(),
  file,
});
export type MediaPart = z.infer<typeof MediaPart>;

const ComponentPart = parts({
  kind: z.string().meta({ description: "As Discord calls it, such as `text_display`", example: "text_display" }),
  depth: z.int().meta({ description: "How many components it lies in" }),
  id: z.number(),
  text: z.string(),
  label: z.string(),
  name: z.string(),
  description: z.string(),
  placeholder: z.string(),
  value: z.string(),
  url: z.string(),
  custom_id: z.string(),
  sku_id: z.string(),
  style: z.number(),
  emoji: EmojiPart,
  options: z.array(parts({ label: z.string(), value: z.string(), description: z.string(), emoji: EmojiPart, default: z.boolean() })),
  default_values: z.array(parts({ type: z.string(), id: z.string() })),
  channel_types: z.array(z.number()),
  min_values: z.number(),
  max_values: z.number(),
  min_length: z.number(),
  max_length: z.number(),
  required: z.boolean(),
  disabled: z.boolean(),
  spoiler: z.boolean(),
  divider: z.boolean(),
  spacing: z.number(),
  accent_color: z.number(),
  bytes: z.number(),
  media: z.array(MediaPart),
});
export type ComponentPart = z.infer<typeof ComponentPart>;
const components = z.array(ComponentPart).meta({ description: "In the order of reading, those inside of others after them" });

const EmbedPart = parts({
  type: z.string(),
  url: z.string(),
  title: z.string(),
  description: z.string(),
  color: z.number(),
  timestamp: Timestamp,
  fields: z.array(parts({ name: z.string(), value: z.string(), inline: z.boolean() })),
  author: parts({ name: z.string(), url: z.string(), icon_url: z.string() }),
  provider: parts({ name: z.string(), url: z.string() }),
  footer: parts({ text: z.string(), icon_url: z.string() }),
  image: MediaPart,
  thumbnail: MediaPart,
  video: MediaPart,
  flags: z.number(),
  components,
});
export type EmbedPart = z.infer<typeof EmbedPart>;

const StickerPart = parts({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  tags: z.string(),
  type: z.number(),
  format: z.number(),
  pack_id: z.string(),
  guild_id: z.string(),
  uploaded_by: z.string(),
  file,
});
export type StickerPart = z.infer<typeof StickerPart>;

const PollPart = parts({
  question: z.string(),
  question_emoji: EmojiPart,
  answers: z.array(parts({ id: z.number(), text: z.string(), emoji: EmojiPart, votes: z.number() })),
  expires_at: Timestamp,
  is_multiple_choice: z.boolean(),
  layout: z.number(),
  is_final: z.boolean(),
});

const UsedPart = parts({
  type: z.number(),
  name: z.string(),
  user_id: z.string(),
  target_user_id: z.string(),
  target_message_id: z.string(),
  interacted_message_id: z.string(),
  original_response_message_id: z.string(),
});

/** What a message, one that was forwarded, and one that was replied to can have alike. */
const common = {
  type: z.number(),
  kind: z.string().meta({ description: "The type as Discord calls it", example: "default" }),
  flags: z.number(),
  tts: z.boolean(),
  pinned: z.boolean(),
  position: z.number(),
  nonce: z.string(),
  author: parts({
    is_bot: z.boolean(),
    is_system: z.boolean(),
    webhook_id: z.string(),
    application_id: z.string(),
    name: z.string().meta({ description: "Of a bot or a web-hook; people are ids" }),
    display_name: z.string(),
    avatar: z.string(),
  }),
  mention_everyone: z.boolean(),
  mentions: z.array(z.string()).meta({ description: "Ids of people" }),
  mention_roles: z.array(z.string()),
  mention_channels: z.array(parts({ id: z.string(), guild_id: z.string(), name: z.string(), type: z.number() })),
  attachments: z.array(AttachmentPart),
  embeds: z.array(EmbedPart),
  components,
  stickers: z.array(StickerPart),
  poll: PollPart,
  reference: parts({ type: z.number(), guild_id: z.string(), channel_id: z.string(), message_id: z.string() }),
  interaction: UsedPart.extend({ triggered_by: UsedPart }).partial(),
  application: ApplicationPart,
  activity: parts({ type: z.number(), party_id: z.string() }),
  call: parts({ ended_at: Timestamp, participants: z.array(z.string()) }),
  thread: parts({
    id: z.string(),
    name: z.string(),
    type: z.number(),
    owner_id: z.string(),
    parent_id: z.string(),
    messages: z.number(),
    members: z.number(),
    is_archived: z.boolean(),
    is_locked: z.boolean(),
    tags: z.array(z.string()),
  }),
  role_subscription: parts({ listing_id: z.string(), tier: z.string(), months: z.number(), is_renewal: z.boolean() }),
  purchase: parts({ type: z.number(), listing_id: z.string(), product: z.string() }),
  resolved: parts({
    users: z.array(z.string()),
    roles: z.array(parts({ id: z.string(), name: z.string() })),
    channels: z.array(parts({ id: z.string(), name: z.string() })),
  }),
  theme: parts({ colors: z.array(z.string()), gradient_angle: z.number(), base_mix: z.number(), base_theme: z.number() }),
  lobby_name: z.string(),
};

const inner = {
  ...common,
  message_id: z.string(),
  channel_id: z.string(),
  author_id: z.string(),
  content: z.string(),
  sent_at: Timestamp,
  edited_at: Timestamp,
};
const ForwardedPart = parts(inner).meta({ id: "ForwardedMessage", description: "A message that was forwarded, as Discord copied it" });
const RepliedPart = parts({ ...inner, forwards: z.array(ForwardedPart) }).meta({ id: "RepliedMessage" });

export const gapReasons = ["unread", "unknown", "cut", "replaced", "not_fetched", "hidden"] as const;
const GapPart = z
  .object({
    at: z.string().meta({ description: "Where in Discord's message, as a JSON pointer", example: "/embeds/0/description" }),
    why: z.enum(gapReasons).meta({
      description:
        "`unread`: not in the form Discord documents; `unknown`: a part this version does not know; `cut`: longer than is kept; `replaced`: characters that cannot be stored; `not_fetched`: a file beyond those that are fetched; `hidden`: Discord does not show it to the bot",
    }),
    count: z.int().optional().meta({ description: "Of `cut`: how many characters or parts were left out" }),
  })
  .meta({ id: "MessageGap" });
export type MessageGap = z.infer<typeof GapPart>;

/** Everything of a message besides its text, its author and its times. */
export const MessageParts = parts({
  ...common,
  reactions: z.array(parts({ emoji: EmojiPart, count: z.number(), burst: z.number() })),
  forwards: z.array(ForwardedPart),
  reply_to: RepliedPart.meta({ description: "The message it replies to, as Discord showed it with it" }),
  gaps: z.array(GapPart).meta({ description: "What was not kept as it was, and why" }),
}).meta({ id: "MessageParts", description: "What the message holds besides its text" });
export type MessageParts = z.infer<typeof MessageParts>;
export type InnerMessage = z.infer<typeof RepliedPart>;
export type CommonParts = Omit<InnerMessage, "message_id" | "channel_id" | "author_id" | "content" | "sent_at" | "edited_at" | "forwards">;
