import { describe, expect, test } from "vitest";
import { readMessage } from "../../../src/discord/rest/messages.ts";
import { hasSpec, specPath } from "../../sandbox/openapi-judge.ts";
import { sampleOf } from "../../support/discord-samples.ts";

const profile = "people are ids: their names and looks are not kept, and those of bots and web-hooks as author only";
const settings = "a setting, which nobody showed in the message";
const bytes = "the bytes are kept in its place";
const bot = "says something of the bot alone";
const layout = "how Discord draws it before it is loaded";
const notice = "the id of a notice between Discord and an application";

/** What of Discord's messages is not kept, and why. Every other property of the document is. */
const notKept: Readonly<Record<string, string>> = {
  "MessageAttachmentResponse.url": bytes,
  "MessageAttachmentResponse.proxy_url": bytes,
  "MessageAttachmentResponse.placeholder": layout,
  "MessageAttachmentResponse.placeholder_version": layout,
  "MessageEmbedImageResponse.proxy_url": bytes,
  "MessageEmbedImageResponse.placeholder": layout,
  "MessageEmbedImageResponse.placeholder_version": layout,
  "MessageEmbedVideoResponse.proxy_url": bytes,
  "MessageEmbedVideoResponse.placeholder": layout,
  "MessageEmbedVideoResponse.placeholder_version": layout,
  "MessageEmbedAuthorResponse.proxy_icon_url": "`icon_url` is kept",
  "MessageEmbedFooterResponse.proxy_icon_url": "`icon_url` is kept",
  "UnfurledMediaResponse.id": "`attachment_id` and the address are kept",
  "UnfurledMediaResponse.proxy_url": bytes,
  "StandardStickerResponse.sort_value": settings,
  "GuildStickerResponse.available": settings,
  "PollResultsEntryResponse.me_voted": bot,
  "MessageReactionResponse.me": bot,
  "MessageReactionResponse.me_burst": bot,
  "MessageReactionResponse.burst_colors": "the colours of an effect",
  "MessageReactionCountDetailsResponse.normal": "`count` without `burst`",
  "MessageInteractionResponse.id": notice,
  "MessageInteractionResponse.user": "the one of `interaction_metadata`, which is kept; it stands in where that is missing",
  "MessageInteractionResponse.name_localized": "`name` is kept",
  ...Object.fromEntries(
    ["ApplicationCommand", "MessageComponent", "ModalSubmit"].flatMap((kind) => [
      [`${kind}InteractionMetadataResponse.id`, notice],
      [`${kind}InteractionMetadataResponse.authorizing_integration_owners`, settings],
    ]),
  ),
  "ResolvedObjectsResponse.members": profile,
  ...of("UserResponse", profile, [
    "username avatar discriminator public_flags flags bot system banner accent_color global_name avatar_decoration_data collectibles",
    "primary_guild",
  ]),
  ...of("ApplicationResponse", settings, [
    "icon type cover_image primary_sku_id bot slug guild_id rpc_origins bot_public bot_require_code_grant terms_of_service_url",
    "privacy_policy_url custom_install_url install_params integration_types_config verify_key flags flags_new max_participants tags",
  ]),
  ...of("BasicApplicationResponseWithBot", settings, ["icon type cover_image primary_sku_id bot"]),
  ...of("ThreadResponse", settings, [
    "last_message_id flags last_pin_timestamp guild_id rate_limit_per_user bitrate user_limit rtc_region video_quality_mode permissions",
    "total_message_sent member",
  ]),
  ...of("ThreadMetadataResponse", settings, ["archive_timestamp auto_archive_duration create_timestamp invitable"]),
  ...of("GuildRoleResponse", settings, ["permissions position color colors hoist managed mentionable icon unicode_emoji tags flags"]),
  ...of("GuildChannelResponse", settings, [
    "type last_message_id flags last_pin_timestamp guild_id parent_id rate_limit_per_user bitrate user_limit rtc_region video_quality_mode",
    "permissions topic default_auto_archive_duration default_thread_rate_limit_per_user position permission_overwrites nsfw available_tags",
    "default_reaction_emoji default_sort_order default_forum_layout default_tag_setting",
  ]),
  ...of("PrivateChannelResponse", settings, ["type last_message_id flags last_pin_timestamp recipients"]),
  ...of("PrivateGroupChannelResponse", settings, [
    "type last_message_id flags last_pin_timestamp recipients icon owner_id managed application_id",
  ]),
};

function of(schema: string, reason: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((line) => line.split(" ")).map((name) => [`${schema}.${name}`, reason]));
}

const how = { isFetched: () => false, stickerUrl: () => undefined };

describe.skipIf(!hasSpec)(
  hasSpec ? "a message with all that Discord documents" : `not checked: there is no document at ${specPath}`,
  () => {
    test.each([0, 1, 2])("is read whole, in form %i: each part is kept, or the table says why not", (variant) => {
      const { value, leaves, places } = sampleOf("MessageResponse", variant);
      const leftOut = places.filter((place) => notKept[place.of] !== undefined).map(({ at }) => at);
      const message = readMessage(value, "80351110224678901", how);
      expect(message?.parts.gaps).toBeUndefined();
      const kept = JSON.stringify(message);
      const isKept = (given: string | number): boolean => kept.includes(JSON.stringify(given).replaceAll('"', ""));
      const isLeftOut = ({ at }: (typeof leaves)[number]): boolean => leftOut.some((one) => at === one || at.startsWith(`${one}/`));
      const lost = leaves.filter((leaf) => !isLeftOut(leaf) && !isKept(leaf.value)).map(({ of: property, at }) => `${property} at ${at}`);
      expect(lost).toEqual([]);
      // The author of a web-hook's message is what it called itself.
      const leaked = leaves.filter((leaf) => notKept[leaf.of] === profile && !leaf.at.includes("author/") && isKept(leaf.value));
      expect(leaked.map(({ at }) => at)).toEqual([]);
    });

    test("has every property that the table leaves out", () => {
      const documented = new Set([0, 1, 2].flatMap((variant) => sampleOf("MessageResponse", variant).places.map((place) => place.of)));
      expect(Object.keys(notKept).filter((property) => !documented.has(property))).toEqual([]);
    });
  },
);
