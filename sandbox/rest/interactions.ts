import { InteractionResponseType } from "discord-api-types/v10";
import { unknown } from "../errors.ts";
import { requireOriginal, type Interaction } from "../interaction.ts";
import type { Interactions } from "../interactions.ts";
import { isEphemeral, messagePayload } from "../message-payload.ts";
import type { Message, World } from "../model.ts";
import { noContent, objectBody, ok, param, type Call, type Route } from "./route.ts";

/** First answers to interactions, and the web-hook that edits them and follows up. The token is the authentication. */
export function interactionRoutes(world: World, interactions: Interactions): Route[] {
  const webhook = "/webhooks/{webhook_id}/{webhook_token}";
  const one = `${webhook}/messages/{message_id}`;
  const present = (message: Message) => ok(messagePayload(world, message));
  const requireWebhook = (call: Call) => {
    if (param(call, "webhook_id") !== world.application.id) throw unknown("Webhook");
    return interactions.byWebhookToken(param(call, "webhook_token"));
  };
  const requireMessage = (call: Call) => {
    const interaction = requireWebhook(call);
    const id = param(call, "message_id");
    const message =
      id === "@original"
        ? requireOriginal(interaction)
        : [interaction.original, ...interaction.followups].find((known) => known?.id === id);
    if (!message) throw unknown("Message");
    return { interaction, message };
  };
  return [
    {
      method: "POST",
      path: "/interactions/{interaction_id}/{interaction_token}/callback",
      auth: "none",
      handle(call) {
        const id = param(call, "interaction_id");
        const answered = interactions.answer(id, param(call, "interaction_token"), objectBody(call), call.files);
        return call.query.get("with_response") === "true" ? ok(callbackPayload(world, answered)) : noContent;
      },
    },
    {
      method: "POST",
      path: webhook,
      auth: "none",
      handle(call) {
        const message = interactions.followUp(requireWebhook(call), objectBody(call), call.files);
        return call.query.get("wait") === "false" ? noContent : present(message);
      },
    },
    { method: "GET", path: one, auth: "none", handle: (call) => present(requireMessage(call).message) },
    {
      method: "PATCH",
      path: one,
      auth: "none",
      handle(call) {
        const { interaction, message } = requireMessage(call);
        return present(interactions.edit(interaction, message, objectBody(call), call.files));
      },
    },
    {
      method: "DELETE",
      path: one,
      auth: "none",
      handle(call) {
        const { interaction, message } = requireMessage(call);
        interactions.remove(interaction, message);
        return noContent;
      },
    },
  ];
}

function callbackPayload(world: World, { id, type, ack, original, thinking, guild, channel }: Interaction) {
  const showsMessage =
    ack?.type === InteractionResponseType.ChannelMessageWithSource ||
    ack?.type === InteractionResponseType.DeferredChannelMessageWithSource ||
    ack?.type === InteractionResponseType.UpdateMessage;
  return {
    interaction: {
      id,
      type,
      guild_id: guild.id,
      channel_id: channel.id,
      ...(original && {
        response_message_id: original.id,
        response_message_loading: thinking,
        response_message_ephemeral: isEphemeral(original),
      }),
    },
    ...(showsMessage && original && { resource: { type: ack.type, message: messagePayload(world, original) } }),
  };
}
