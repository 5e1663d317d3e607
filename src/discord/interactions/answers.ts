import type { Logger } from "pino";
import type { ComponentInteraction, Form, FormInteraction, MenuInteraction, Opened, Reply, SlashInteraction } from "../command.ts";
import { fitForm } from "./component-limits.ts";
import type { Translate } from "../../kit/say.ts";
import { messageOf, neutralReply, onlyForAsker } from "../replies.ts";
import { type RefusedAt, refusalReply } from "../refusal.ts";
import { refusalStatus, safeError } from "../rest/errors.ts";

export type Repliable = SlashInteraction | MenuInteraction | ComponentInteraction | FormInteraction;

export interface Outcome {
  reply: Reply;
  isRefusal: boolean;
}

interface AnswersOptions {
  translator: (language: string) => Translate;
  logger: Logger;
}

/** Discord's status for an answer whose body it refuses. */
const badRequest = 400;

/** The ways to answer an interaction; all of them fit the answer into Discord's limits. */
export function createAnswers({ translator, logger }: AnswersOptions) {
  const failureOf = (error: unknown, interaction: Repliable, name: string, at: RefusedAt = {}): Outcome => {
    const t = translator(interaction.locale);
    const refusal = refusalReply(error, t, { community: interaction.guild?.name, ...at });
    if (refusal !== undefined) return { reply: refusal, isRefusal: true };
    logger.error({ err: error, request_id: interaction.id, command: name }, "a slash command failed");
    const neutral = neutralReply(interaction.id, t);
    return { reply: { ...neutral, content: [neutral.content, ...(at.notes ?? [])].join("\n") }, isRefusal: true };
  };

  /** Sends an answer; if Discord refuses it, a neutral answer is sent instead. */
  const deliver = async (interaction: Repliable, reply: Reply, way: "edit" | "follow" | "follow-privately"): Promise<void> => {
    const t = translator(interaction.locale);
    try {
      const message = messageOf(reply, t);
      if (way === "edit") await interaction.editReply(message);
      else await interaction.followUp(way === "follow" ? message : { ...message, flags: onlyForAsker });
    } catch (error) {
      const status = refusalStatus(error);
      if (status === undefined && way === "edit") {
        logger.warn(
          { err: safeError(error), request_id: interaction.id },
          "an answer could not be put in its place; it is sent as a message",
        );
        return deliver(interaction, reply, "follow-privately");
      }
      if (status !== badRequest) throw error;
      logger.error({ err: safeError(error), request_id: interaction.id }, "Discord refused an answer");
      await interaction.followUp({ ...messageOf(neutralReply(interaction.id, t)), flags: onlyForAsker });
    }
  };

  /** Replaces a reply as more becomes known. Nobody waits for it, and a failure leaves the last reply. */
  const follow = async (interaction: Repliable, first: Reply): Promise<void> => {
    try {
      for (let reply: Reply | undefined = first; reply?.next !== undefined;) {
        reply = await reply.next();
        if (reply !== undefined) await interaction.editReply(messageOf(reply, translator(interaction.locale)));
      }
    } catch (error) {
      logger.warn({ err: safeError(error), request_id: interaction.id }, "an answer could not be brought up to date");
    }
  };

  const send = async (interaction: Repliable, { reply }: Outcome): Promise<void> => {
    if (reply.ephemeral !== false) {
      await deliver(interaction, reply, "edit");
      if (reply.next !== undefined) void follow(interaction, reply);
      return;
    }
    // A deferred answer stays private; a public reply needs a message of its own.
    await deliver(interaction, { content: translator(interaction.locale)("door below") }, "edit");
    await deliver(interaction, reply, "follow");
  };

  /** Shows the form that `open` returns, if any. @returns whether the interaction was answered */
  const showForm = async (
    interaction: SlashInteraction | MenuInteraction | ComponentInteraction,
    name: string,
    open: () => Opened,
  ): Promise<boolean> => {
    let form: Form | undefined;
    try {
      const opened = await open();
      form = opened === undefined ? undefined : fitForm(opened);
    } catch (error) {
      await interaction.deferReply({ flags: onlyForAsker });
      await send(interaction, failureOf(error, interaction, name));
      return true;
    }
    if (form !== undefined) await interaction.showModal(form);
    return form !== undefined;
  };

  return { failureOf, deliver, send, showForm };
}
