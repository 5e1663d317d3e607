import { held, type Fields } from "./fields.ts";

/** An emoji: a character, or one of a server with its id. */
export const emojiPart = (fields: Fields) =>
  held({ id: fields.id("id"), name: fields.text("name", 200), animated: fields.flag("animated") });

/** An account or an application, of which only the id is kept: what people are called is not. */
export const userId = (fields: Fields): string | undefined => {
  const id = fields.id("id");
  fields.pass(...profile);
  return id;
};

/** What a person looks like and is called. */
export const profile = [
  "username",
  "discriminator",
  "global_name",
  "avatar",
  "banner",
  "accent_color",
  "avatar_decoration_data",
  "collectibles",
  "primary_guild",
  "public_flags",
  "flags",
  "bot",
  "system",
  "clan",
  "banner_color",
  "member",
] as const;

export const applicationPart = (fields: Fields) => {
  const part = held({ id: fields.id("id"), name: fields.text("name", 200), description: fields.text("description") });
  fields.pass(...applicationSettings);
  return part;
};

/** Settings of an application, which nobody showed in the message. */
const applicationSettings = [
  "icon",
  "type",
  "cover_image",
  "primary_sku_id",
  "bot",
  "slug",
  "guild_id",
  "rpc_origins",
  "bot_public",
  "bot_require_code_grant",
  "terms_of_service_url",
  "privacy_policy_url",
  "custom_install_url",
  "install_params",
  "integration_types_config",
  "verify_key",
  "flags",
  "flags_new",
  "max_participants",
  "tags",
] as const;
