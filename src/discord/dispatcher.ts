import type { AutocompleteInteraction, Interaction } from "discord.js";
import type { Logger } from "pino";
import type { Actor, Call } from "../kernel/call.ts";
import { callerOf, isDenial, requiredBy } from "../kernel/denied.ts";
import type { NoteDenied } from "../kernel/denied.ts";
import type { Command, Reply, Run, SlashInteraction } from "./command.ts";
import { messageOf, neutralReply, onlyForAsker, refusalReply } from "./replies.ts";
import { safeError } from "./rest-errors.ts";

interface DispatcherOptions {
  commands: readonly Command[];
  guildIds: readonly string[];
  actorOf(userId: string): Promise<Actor> | Actor;
  noteDenied?: NoteDenied;
  logger: Logger;
}

export interface Dispatcher {
  /** Answers one interaction; never rejects. */
  handle(interaction: Interaction): Promise<void>;
  /** Settles when no command is running. */
  idle(): Promise<void>;
}

const choiceLimit = 25;

/** The slash door: acknowledges at once, finds the person and the command, runs it, and answers; each failure has one wording. */
export function createDispatcher({ commands, guildIds, actorOf, noteDenied, logger }: DispatcherOptions): Dispatcher {
  const byName = new Map(commands.map((command) => [command.payload.name, command]));
  const configured = new Set(guildIds);
  const running = new Set<Promise<void>>();

  const isOurs = (guildId: string): boolean => configured.size === 0 || configured.has(guildId);

  const callOf = async (interaction: { id: string; guildId: string; user: { id: string } }): Promise<Call> => {
    const actor = await actorOf(interaction.user.id);
    const { id, guildId } = interaction;
    return { client: null, actor, via: "slash", requestId: id, idempotency: null, replayed: false, guildId };
  };

  const answerOf = async (interaction: SlashInteraction, run: Run | undefined): Promise<Reply> => {
    if (run === undefined) return { content: "This command is not known here (any more)." };
    let call: Call | undefined;
    try {
      call = await callOf(interaction);
      return await run(interaction.options, call, interaction);
    } catch (error) {
      if (call !== undefined && isDenial(error)) {
        const action = requiredBy(error) ?? `/${pathOf(interaction)}`;
        noteDenied?.({ caller: callerOf(call), action, code: error.code, isAboutRecord: false });
      }
      const refusal = refusalReply(error);
      if (refusal !== undefined) return refusal;
      logger.error({ err: error, request_id: interaction.id, command: pathOf(interaction) }, "a slash command failed");
      return neutralReply(interaction.id);
    }
  };

  const send = async (interaction: SlashInteraction, reply: Reply): Promise<void> => {
    if (reply.ephemeral !== false) return void (await interaction.editReply(messageOf(reply)));
    // A deferred answer stays as private as it was deferred; what all shall see is a message of its own.
    await interaction.editReply({ content: "The answer is below, for everyone here." });
    const { content = "", embeds = [], files = [] } = messageOf(reply);
    await interaction.followUp({ content: content ?? "", embeds: embeds ?? [], files, allowedMentions: { parse: [] } });
  };

  const slash = async (interaction: SlashInteraction): Promise<void> => {
    await interaction.deferReply({ flags: onlyForAsker });
    const command = byName.get(interaction.commandName);
    const { path } = partsOf(interaction);
    const run = path === "" ? command?.run : command?.subcommands?.[path];
    const reply = isOurs(interaction.guildId) ? await answerOf(interaction, run) : { content: "This server is not served here." };
    await send(interaction, reply);
  };

  const complete = async (interaction: AutocompleteInteraction<"cached" | "raw">): Promise<void> => {
    const run = byName.get(interaction.commandName)?.autocomplete;
    if (run === undefined || !isOurs(interaction.guildId)) return interaction.respond([]);
    const { name, value } = interaction.options.getFocused(true);
    let choices: Awaited<ReturnType<typeof run>> = [];
    try {
      choices = await run({ name, value: value.toString() }, await callOf(interaction), interaction);
    } catch (error) {
      if (refusalReply(error) === undefined) logger.error({ err: error, command: interaction.commandName }, "an autocompletion failed");
    }
    await interaction.respond(choices.slice(0, choiceLimit));
  };

  const answer = async (interaction: Interaction): Promise<void> => {
    if (interaction.isChatInputCommand() && interaction.inGuild()) return slash(interaction);
    if (interaction.isAutocomplete() && interaction.inGuild()) return complete(interaction);
    if (interaction.isRepliable()) await interaction.reply({ content: "This is not served here.", flags: onlyForAsker });
  };

  return {
    handle(interaction) {
      const task = answer(interaction)
        .catch((error: unknown) => logger.warn({ err: safeError(error), interaction: interaction.id }, "an answer to Discord was lost"))
        .finally(() => running.delete(task));
      running.add(task);
      return task;
    },
    idle: async () => void (await Promise.all(running)),
  };
}

function partsOf({ options }: SlashInteraction): { path: string } {
  const parts = [options.getSubcommandGroup(false), options.getSubcommand(false)];
  return { path: parts.filter((part) => part !== null).join(" ") };
}

function pathOf(interaction: SlashInteraction): string {
  return `${interaction.commandName} ${partsOf(interaction).path}`.trim();
}
