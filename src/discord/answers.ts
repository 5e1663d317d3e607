import type { Logger } from "pino";
import type { ComponentInteraction, Form, FormInteraction, MenuInteraction, Reply, SlashInteraction } from "./command.ts";
import { fitForm } from "./limits-forms.ts";
import { messageOf, neutralReply, onlyForAsker, refusalReply } from "./replies.ts";
import { refusalStatus, safeError } from "./rest-errors.ts";
import type { Words } from "./words.ts";

export type Repliable = SlashInteraction | MenuInteraction | ComponentInteraction | FormInteraction;

export interface Outcome {
  reply: Reply;
  isRefusal: boolean;
}

interface AnswersOptions {
  wordsIn: (language: string) => Words;
  logger: Logger;
}

/** What is wrong with the body of an answer, as Discord says it. */
const badRequest = 400;

/** The ways an interaction gets its answer; all of them go through the limits of Discord. */
export function createAnswers({ wordsIn, logger }: AnswersOptions) {
  const failureOf = (error: unknown, interaction: Repliable, name: string): Outcome => {
    const words = wordsIn(interaction.locale);
    const refusal = refusalReply(error, words);
    if (refusal !== undefined) return { reply: refusal, isRefusal: true };
    logger.error({ err: error, request_id: interaction.id, command: name }, "a slash command failed");
    return { reply: neutralReply(interaction.id, words), isRefusal: true };
  };

  /** Sends an answer; one that Discord does not take as it is leaves nobody without any. */
  const deliver = async (interaction: Repliable, reply: Reply, way: "edit" | "follow" | "follow-privately"): Promise<void> => {
    const words = wordsIn(interaction.locale);
    try {
      const message = messageOf(reply, words);
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
      await interaction.followUp({ ...messageOf(neutralReply(interaction.id, words)), flags: onlyForAsker });
    }
  };

  const send = async (interaction: Repliable, { reply }: Outcome): Promise<void> => {
    if (reply.ephemeral !== false) return deliver(interaction, reply, "edit");
    // A deferred answer stays as private as it was deferred; what all shall see is a message of its own.
    await deliver(interaction, { content: wordsIn(interaction.locale)("door below") }, "edit");
    await deliver(interaction, reply, "follow");
  };

  /** Shows the form that is opened, if any. @returns whether the interaction has its answer */
  const showForm = async (
    interaction: SlashInteraction | MenuInteraction | ComponentInteraction,
    name: string,
    open: () => Form | undefined,
  ): Promise<boolean> => {
    let form: Form | undefined;
    try {
      const opened = open();
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
