import { MessageType } from "discord-api-types/v10";
import { messageLimits, type CommonParts } from "../../kernel/message-parts.ts";
import { attachmentPart } from "./attachments.ts";
import { componentParts } from "./components.ts";
import type { Reading } from "./context.ts";
import { embedPart } from "./embeds.ts";
import { held, type Fields } from "./fields.ts";
import { kindOf } from "./kinds.ts";
import { pollPart } from "./polls.ts";
import { applicationPart, profile, userId } from "./small.ts";
import { stickerParts } from "./stickers.ts";

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
