import { MessageType, ComponentType } from "discord-api-types/v10";
import {
  messageLimits,
  type CommonParts,
  type MessageParts,
  type EmbedPart,
  type StickerPart,
  type ComponentPart,
  type MediaPart,
} from "../../kernel/message-parts.ts";
import type { Reading } from "./context.ts";
import { held, type Fields, note } from "./fields.ts";
import { applicationPart, profile, userId, emojiPart } from "./small.ts";

/** A picture or a film of an embed or a component. Its bytes are fetched where Discord has a copy of its own. */
function mediaPart({ files, isFetched }: Reading): (fields: Fields) => MediaPart | undefined {
  return (fields) => {
    const attachment = fields.id("attachment_id");
    const url = fields.text("url", 4000);
    const proxy = fields.text("proxy_url", 4000);
    const source = [url, proxy].find((one) => one !== undefined && isFetched(one));
    const known = attachment === undefined ? undefined : files.find(attachment);
    fields.pass("id", "placeholder", "placeholder_version");
    return held({
      url,
      ...picture(fields),
      attachment_id: attachment,
      file: known ?? (source === undefined ? undefined : files.add({ name: nameOf(url ?? source), bytes: 0, url: source }, fields.at)),
    });
  };
}

function picture(fields: Fields) {
  return {
    description: fields.text("description"),
    content_type: fields.text("content_type", 200),
    width: fields.number("width"),
    height: fields.number("height"),
    flags: fields.number("flags"),
  };
}

/** What a file is called by its address. */
function nameOf(url: string): string {
  const [path = ""] = url.split(/[?#]/);
  return path.split("/").at(-1) ?? "";
}

/** A type of Discord by its name there, such as `text_display`; one without a known name by its number. */
function kindOf(names: Readonly<Record<number, string>>, type: number | undefined): string | undefined {
  if (type === undefined) return undefined;
  const name = Object.hasOwn(names, type) ? names[type] : undefined;
  return name?.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, "_").toLowerCase() ?? `type_${type.toString()}`;
}

/** Fields under which a component has others, in the order of reading. */
const nested = ["components", "component", "accessory"] as const;

/** All components under a field of a message or an embed, in the order of reading. */
function componentParts(reading: Reading, fields: Fields, name = "components"): ComponentPart[] {
  const found: ComponentPart[] = [];
  const counter = { left: messageLimits.components };
  collect(reading, fields, name, { found, counter, depth: 0 });
  return found;
}

interface Collecting {
  found: ComponentPart[];
  counter: { left: number };
  depth: number;
}

function collect(reading: Reading, fields: Fields, name: string, { found, counter, depth }: Collecting): void {
  fields.objects(name, messageLimits.items, (inner) => {
    addOne(reading, inner, { found, counter, depth });
    return undefined;
  });
}

function addOne(reading: Reading, fields: Fields, { found, counter, depth }: Collecting): void {
  if (counter.left === 0 || depth > messageLimits.depth) {
    note(reading.budget, fields.at, "cut");
    fields.pass(...fields.names());
    return;
  }
  counter.left -= 1;
  found.push({ ...componentPart(reading, fields), depth });
  for (const name of nested) {
    if (!fields.has(name)) continue;
    if (name === "components") collect(reading, fields, name, { found, counter, depth: depth + 1 });
    else fields.object(name, (inner) => addOne(reading, inner, { found, counter, depth: depth + 1 }));
  }
}

function componentPart(reading: Reading, fields: Fields): ComponentPart {
  const media = mediaPart(reading);
  const items = fields.objects("items", messageLimits.items, (item) =>
    held<MediaPart>({ ...item.object("media", media), description: item.text("description"), spoiler: item.flag("spoiler") }),
  );
  const single = [fields.object("media", media), fields.object("file", media)].filter((one) => one !== undefined);
  return (
    held<ComponentPart>({
      kind: kindOf(ComponentType, fields.whole("type")),
      id: fields.number("id"),
      text: fields.text("content"),
      label: fields.text("label", 1000),
      name: fields.text("name", 1000),
      description: fields.text("description"),
      placeholder: fields.text("placeholder", 1000),
      value: fields.text("value"),
      url: fields.text("url", 4000),
      custom_id: fields.text("custom_id", 1000),
      sku_id: fields.id("sku_id"),
      style: fields.number("style"),
      emoji: fields.object("emoji", emojiPart),
      options: fields.objects("options", messageLimits.options, optionPart),
      default_values: fields.objects("default_values", messageLimits.items, (one) =>
        held({ type: one.text("type", 40), id: one.id("id") }),
      ),
      channel_types: fields.numbers("channel_types"),
      min_values: fields.number("min_values"),
      max_values: fields.number("max_values"),
      min_length: fields.number("min_length"),
      max_length: fields.number("max_length"),
      required: fields.flag("required"),
      disabled: fields.flag("disabled"),
      spoiler: fields.flag("spoiler"),
      divider: fields.flag("divider"),
      spacing: fields.number("spacing"),
      accent_color: fields.number("accent_color"),
      bytes: fields.number("size"),
      media: [...items, ...single],
    }) ?? {}
  );
}

const optionPart = (option: Fields) =>
  held({
    label: option.text("label", 1000),
    value: option.text("value", 1000),
    description: option.text("description", 1000),
    emoji: option.object("emoji", emojiPart),
    default: option.flag("default"),
  });

/** Stickers of a message: Discord lists them with little, and sometimes a second time with more. */
function stickerParts(reading: Reading, fields: Fields): StickerPart[] {
  const short = fields.objects("sticker_items", messageLimits.items, stickerPart);
  const long = fields.objects("stickers", messageLimits.items, stickerPart);
  const all = new Map<string, StickerPart>();
  for (const sticker of [...short, ...long]) {
    const key = sticker.id ?? `#${all.size.toString()}`;
    all.set(key, { ...all.get(key), ...sticker });
  }
  return [...all.values()].map((sticker) => withPicture(reading, sticker, fields.at));
}

function withPicture({ files, stickerUrl }: Reading, sticker: StickerPart, at: string): StickerPart {
  const url = sticker.id === undefined ? undefined : stickerUrl(sticker.id, sticker.format ?? 1);
  if (url === undefined) return sticker;
  const ending = url.split(".").at(-1) ?? "png";
  const file = files.add({ name: `${sticker.name ?? "sticker"}.${ending}`, bytes: 0, url }, `${at}/sticker_items`);
  return { ...sticker, ...(file !== undefined && { file }) };
}

function stickerPart(fields: Fields): StickerPart | undefined {
  fields.pass("available", "sort_value");
  return held<StickerPart>({
    id: fields.id("id"),
    name: fields.text("name", 200),
    description: fields.text("description", 1000),
    tags: fields.text("tags", 1000),
    type: fields.number("type"),
    format: fields.number("format_type"),
    pack_id: fields.id("pack_id"),
    guild_id: fields.id("guild_id"),
    uploaded_by: fields.object("user", userId),
  });
}

/** An embed with all its parts. */
function embedPart(reading: Reading): (fields: Fields) => EmbedPart | undefined {
  const media = mediaPart(reading);
  return (fields) =>
    held<EmbedPart>({
      type: fields.text("type", 100),
      url: fields.text("url", 4000),
      title: fields.text("title"),
      description: fields.text("description"),
      color: fields.number("color"),
      timestamp: fields.time("timestamp"),
      author: fields.object("author", (author) => {
        author.pass("proxy_icon_url");
        return held({ name: author.text("name"), url: author.text("url", 4000), icon_url: author.text("icon_url", 4000) });
      }),
      provider: fields.object("provider", (provider) => held({ name: provider.text("name"), url: provider.text("url", 4000) })),
      fields: fields.objects("fields", messageLimits.fields, (field) =>
        held({ name: field.text("name"), value: field.text("value"), inline: field.flag("inline") }),
      ),
      footer: fields.object("footer", (footer) => {
        footer.pass("proxy_icon_url");
        return held({ text: footer.text("text"), icon_url: footer.text("icon_url", 4000) });
      }),
      image: fields.object("image", media),
      thumbnail: fields.object("thumbnail", media),
      video: fields.object("video", media),
      flags: fields.number("flags"),
      components: componentParts(reading, fields),
    });
}

type AttachmentPart = NonNullable<CommonParts["attachments"]>[number];

/** A file of a message. Its address is valid for a day only: its bytes are kept in its place. */
function attachmentPart({ files }: Reading): (fields: Fields) => AttachmentPart | undefined {
  return (fields) => {
    const id = fields.id("id");
    const name = fields.text("filename", 1000);
    const bytes = fields.number("size");
    const url = fields.text("url", 4000);
    fields.pass("proxy_url", "placeholder", "placeholder_version");
    return held<AttachmentPart>({
      id,
      name,
      title: fields.text("title", 1000),
      description: fields.text("description"),
      content_type: fields.text("content_type", 200),
      bytes,
      width: fields.number("width"),
      height: fields.number("height"),
      duration_seconds: fields.number("duration_secs"),
      waveform: fields.text("waveform"),
      ephemeral: fields.flag("ephemeral"),
      flags: fields.number("flags"),
      clip_created_at: fields.time("clip_created_at"),
      clip_participants: fields.objects("clip_participants", messageLimits.items, userId),
      application: fields.object("application", applicationPart),
      file: files.add({ name: name ?? "file", bytes: bytes ?? 0, url: url ?? "" }, fields.at, id ?? url ?? fields.at),
    });
  };
}

/** A poll: its question, and its answers with their votes. */
function pollPart(poll: Fields): MessageParts["poll"] {
  const question = poll.object("question", mediaOf);
  const results = poll.object("results", (found) => ({
    isFinal: found.flag("is_finalized"),
    counts: found.objects("answer_counts", messageLimits.items, (one) => {
      one.pass("me_voted");
      return { id: one.number("id"), votes: one.number("count") };
    }),
  }));
  const answers = poll.objects("answers", messageLimits.items, (answer) => {
    const id = answer.number("answer_id");
    return held({ id, ...answer.object("poll_media", mediaOf), votes: results?.counts.find((one) => one.id === id)?.votes });
  });
  const ids = new Set(answers.map(({ id }) => id));
  const others = (results?.counts ?? []).filter(({ id }) => !ids.has(id));
  return held({
    question: question?.text,
    question_emoji: question?.emoji,
    answers: [...answers, ...others],
    expires_at: poll.time("expiry"),
    is_multiple_choice: poll.flag("allow_multiselect"),
    layout: poll.number("layout_type"),
    is_final: results?.isFinal,
  });
}

const mediaOf = (media: Fields) => ({ text: media.text("text", 1000), emoji: media.object("emoji", emojiPart) });

/** What is read alike of a message, of one that was forwarded and of one that was replied to. */
export function commonParts(reading: Reading, fields: Fields): CommonParts {
  const type = fields.whole("type");
  // First: what shows an attachment finds it by its id.
  const attachments = fields.objects("attachments", messageLimits.attachments, attachmentPart(reading));
  return {
    type,
    kind: kindOf(MessageType, type),
    flags: fields.number("flags"),
    tts: fields.flag("tts"),
    pinned: fields.flag("pinned"),
    position: fields.number("position"),
    nonce: nonceOf(fields),
    author: authorPart(fields),
    mention_everyone: fields.flag("mention_everyone"),
    mentions: fields.objects("mentions", messageLimits.items, userId),
    mention_roles: fields.ids("mention_roles"),
    mention_channels: fields.objects("mention_channels", messageLimits.items, (channel) =>
      held({ id: channel.id("id"), guild_id: channel.id("guild_id"), name: channel.text("name", 200), type: channel.number("type") }),
    ),
    attachments,
    embeds: fields.objects("embeds", messageLimits.embeds, embedPart(reading)),
    components: componentParts(reading, fields),
    stickers: stickerParts(reading, fields),
    poll: fields.object("poll", pollPart),
    reference: fields.object("message_reference", (reference) =>
      held({
        type: reference.number("type"),
        guild_id: reference.id("guild_id"),
        channel_id: reference.id("channel_id"),
        message_id: reference.id("message_id"),
      }),
    ),
    interaction: interactionPart(fields),
    application: fields.object("application", applicationPart),
    activity: fields.object("activity", (activity) => held({ type: activity.number("type"), party_id: activity.text("party_id", 1000) })),
    call: fields.object("call", (call) => held({ ended_at: call.time("ended_timestamp"), participants: call.ids("participants") })),
    thread: fields.object("thread", threadPart),
    role_subscription: fields.object("role_subscription_data", (sold) =>
      held({
        listing_id: sold.id("role_subscription_listing_id"),
        tier: sold.text("tier_name", 1000),
        months: sold.number("total_months_subscribed"),
        is_renewal: sold.flag("is_renewal"),
      }),
    ),
    purchase: fields.object("purchase_notification", (sold) =>
      held({
        type: sold.number("type"),
        ...sold.object("guild_product_purchase", (item) => ({
          listing_id: item.id("listing_id"),
          product: item.text("product_name", 1000),
        })),
      }),
    ),
    resolved: fields.object("resolved", resolvedPart),
    theme: fields.object("shared_client_theme", (theme) =>
      held({
        colors: theme.texts("colors"),
        gradient_angle: theme.number("gradient_angle"),
        base_mix: theme.number("base_mix"),
        base_theme: theme.number("base_theme"),
      }),
    ),
    lobby_name: fields.object("lobby_member", (member) => {
      member.pass("id", "flags", "metadata");
      return member.text("additional_name", 200);
    }),
  };
}

function nonceOf(fields: Fields): string | undefined {
  const isNumber = typeof fields.raw("nonce") === "number";
  return isNumber ? fields.number("nonce")?.toString() : fields.text("nonce", 200);
}

/** Who wrote it, besides their id: the name of a bot or a web-hook is a part of what it showed; what people are called is not kept. */
function authorPart(fields: Fields): CommonParts["author"] {
  const webhook = fields.id("webhook_id");
  return held({
    webhook_id: webhook,
    application_id: fields.id("application_id"),
    ...fields.object("author", (author) => {
      const isBot = author.flag("bot") === true || webhook !== undefined;
      author.pass("id");
      const named = isBot && {
        name: author.text("username", 200),
        display_name: author.text("global_name", 200),
        avatar: author.text("avatar", 200),
      };
      author.pass(...profile);
      return { is_bot: isBot || undefined, is_system: author.flag("system"), ...named };
    }),
  });
}

function interactionPart(fields: Fields): CommonParts["interaction"] {
  const older = fields.object("interaction", (used) => {
    used.pass("id", "member", "name_localized");
    return { type: used.number("type"), name: used.text("name", 200), user_id: used.object("user", userId) };
  });
  const newer = fields.object("interaction_metadata", (used) => {
    const triggered = used.object("triggering_interaction_metadata", (first) => held(usedPart(first)));
    return { ...usedPart(used), triggered_by: triggered };
  });
  return held({ ...older, ...(newer !== undefined && held(newer)) });
}

function usedPart(used: Fields) {
  used.pass("id", "authorizing_integration_owners", "name_localized");
  return {
    type: used.number("type"),
    name: used.text("name", 200),
    user_id: used.object("user", userId),
    target_user_id: used.object("target_user", userId),
    target_message_id: used.id("target_message_id"),
    interacted_message_id: used.id("interacted_message_id"),
    original_response_message_id: used.id("original_response_message_id"),
  };
}

function threadPart(thread: Fields): CommonParts["thread"] {
  thread.pass(...threadSettings);
  return held({
    id: thread.id("id"),
    name: thread.text("name", 200),
    type: thread.number("type"),
    owner_id: thread.id("owner_id"),
    parent_id: thread.id("parent_id"),
    messages: thread.number("message_count"),
    members: thread.number("member_count"),
    tags: thread.ids("applied_tags"),
    ...thread.object("thread_metadata", (state) => {
      state.pass("archive_timestamp", "auto_archive_duration", "create_timestamp", "invitable");
      return { is_archived: state.flag("archived"), is_locked: state.flag("locked") };
    }),
  });
}

/** Settings of a thread, and who the bot is in it. */
const threadSettings = [
  "guild_id",
  "last_message_id",
  "flags",
  "last_pin_timestamp",
  "rate_limit_per_user",
  "bitrate",
  "user_limit",
  "rtc_region",
  "video_quality_mode",
  "permissions",
  "total_message_sent",
  "member",
] as const;

/** What a menu of the message names; members among it are the users once more, by their nicknames. */
function resolvedPart(resolved: Fields): CommonParts["resolved"] {
  const named = (one: Fields) => {
    const part = held({ id: one.id("id"), name: one.text("name", 200) });
    one.pass(...one.names());
    return part;
  };
  resolved.pass("members");
  return held({
    users: resolved.byId("users", userId),
    roles: resolved.byId("roles", named),
    channels: resolved.byId("channels", named),
  });
}
