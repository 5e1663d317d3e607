import type { AutocompleteInteraction, Interaction } from "discord.js";
import type { Logger } from "pino";
import type { Actor, Call } from "../kernel/call.ts";
import { callerOf, isDenial, requiredBy } from "../kernel/denied.ts";
import type { Denial, NoteDenied } from "../kernel/denied.ts";
import { ProblemError } from "../kernel/errors.ts";
import type {
  Choice,
  Command,
  ComponentInteraction,
  Control,
  FormInteraction,
  MenuInteraction,
  Reply,
  SlashInteraction,
} from "./command.ts";
import { createAnswers, type Outcome, type Repliable } from "./answers.ts";
import { fitChoices } from "./limits-components.ts";
import { RefusedWithOffer } from "./refused.ts";
import { onlyForAsker, refusalReply } from "./replies.ts";
import { safeError } from "./rest-errors.ts";
import { englishWords, type Words } from "./words.ts";

interface DispatcherOptions {
  commands: readonly Command[];
  controls?: readonly Control[];
  guildIds: readonly string[];
  actorOf(userId: string): Promise<Actor> | Actor;
  noteDenied?: NoteDenied;
  /** What a refusal was about, where what runs knows it; otherwise it is noted under the command. */
  denialOf?: (error: unknown) => Denial | undefined;
  /** What the door says, by language as Discord names it; English unless told. */
  wordsIn?: (language: string) => Words;
  logger: Logger;
}

export interface Dispatcher {
  /** Answers one interaction; never rejects. */
  handle(interaction: Interaction): Promise<void>;
  /** Settles when no command is running. */
  idle(): Promise<void>;
}

/** Whoever runs a server and is no staff may be the first here. */
function isNew(error: unknown, { memberPermissions: held }: Repliable): boolean {
  return error instanceof ProblemError && error.code === "acting_user_not_staff" && held.has("Administrator");
}

type Work = (call: Call) => Promise<Reply> | Reply;

/** The slash door: acknowledges at once, finds the person and what is to run, runs it, and answers; each failure has one wording. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const {
    commands,
    controls = [],
    guildIds,
    actorOf,
    noteDenied,
    denialOf = () => undefined,
    wordsIn = () => englishWords,
    logger,
  } = options;
  const { failureOf, deliver, send, showForm } = createAnswers({ wordsIn, logger });
  const byName = new Map(commands.map((command) => [`${String(command.payload.type ?? 1)}:${command.payload.name}`, command]));
  const controlOf = new Map(controls.map((control) => [control.name, control]));
  const configured = new Set(guildIds);
  const running = new Set<Promise<void>>();

  const isOurs = (guildId: string): boolean => configured.size === 0 || configured.has(guildId);

  type Asking = { id: string; guildId: string; user: { id: string } };

  const callBy = (actor: Actor, { id, guildId }: Asking): Call => {
    return { client: null, actor, via: "slash", requestId: id, idempotency: null, replayed: false, guildId };
  };

  const callOf = async (interaction: Asking): Promise<Call> => callBy(await actorOf(interaction.user.id), interaction);

  /** Undefined for people who have to be looked up first. */
  const callAtOnce = (interaction: Asking): Call | undefined => {
    const actor = actorOf(interaction.user.id);
    if (!(actor instanceof Promise)) return callBy(actor, interaction);
    actor.catch(() => undefined);
    return undefined;
  };

  const outcomeOf = async (interaction: Repliable, name: string, work: Work | undefined): Promise<Outcome> => {
    const words = wordsIn(interaction.locale);
    if (!isOurs(interaction.guildId)) return { reply: { content: words("door other-server") }, isRefusal: true };
    if (work === undefined) return { reply: { content: words("door unknown") }, isRefusal: true };
    let call: Call | undefined;
    try {
      call = await callOf(interaction);
      return { reply: await work(call), isRefusal: false };
    } catch (thrown) {
      const { refusal: error, components } = thrown instanceof RefusedWithOffer ? thrown : { refusal: thrown, components: undefined };
      if (call !== undefined && isDenial(error)) {
        const denial = denialOf(error) ?? { action: requiredBy(error) ?? name, code: error.code, isAboutRecord: false };
        noteDenied?.({ caller: callerOf(call), ...denial });
      }
      const { reply, isRefusal } = failureOf(error, interaction, name);
      const content = isNew(error, interaction) ? `${reply.content}\n${words("door new-here")}` : reply.content;
      return { reply: { ...reply, content, ...(components !== undefined && { components }) }, isRefusal };
    }
  };

  const slash = async (interaction: SlashInteraction | MenuInteraction): Promise<void> => {
    const command = byName.get(`${String(interaction.commandType)}:${interaction.commandName}`);
    const path = interaction.isChatInputCommand() ? pathOf(interaction) : "";
    const name = `/${interaction.commandName} ${path}`.trim();
    if (
      await showForm(interaction, name, () =>
        isOurs(interaction.guildId) ? command?.opens?.(path, interaction, callAtOnce(interaction)) : undefined,
      )
    )
      return;
    await interaction.deferReply({ flags: onlyForAsker });
    await send(interaction, await outcomeOf(interaction, name, workOf(command, path, interaction)));
  };

  const press = async (interaction: ComponentInteraction | FormInteraction): Promise<void> => {
    const [name = "", ...args] = interaction.customId.split(":");
    const control = controlOf.get(name);
    if (
      interaction.isMessageComponent() &&
      (await showForm(interaction, name, () => (isOurs(interaction.guildId) ? control?.opens?.(args, interaction) : undefined)))
    )
      return;
    const updates = control?.updates?.(args) === true && (interaction.isMessageComponent() || interaction.isFromMessage());
    if (updates) await interaction.deferUpdate();
    else await interaction.deferReply({ flags: onlyForAsker });
    const outcome = await outcomeOf(interaction, name, control === undefined ? undefined : (call) => control.run(args, call, interaction));
    if (updates && outcome.isRefusal) await deliver(interaction, outcome.reply, "follow-privately");
    else await send(interaction, outcome);
  };

  const complete = async (interaction: AutocompleteInteraction<"cached" | "raw">): Promise<void> => {
    const run = byName.get(`1:${interaction.commandName}`)?.autocomplete;
    let choices: readonly Choice[] = [];
    try {
      if (run !== undefined && isOurs(interaction.guildId)) {
        // Whatever stands where the typed text belongs, as it came over the wire.
        const { name, value }: { name: string; value: unknown } = interaction.options.getFocused(true);
        const typed = typeof value === "string" || typeof value === "number" ? value.toString() : "";
        choices = fitChoices(await run({ name, value: typed }, await callOf(interaction), interaction));
      }
    } catch (error) {
      if (refusalReply(error) === undefined) logger.error({ err: error, command: interaction.commandName }, "an autocompletion failed");
    }
    await interaction.respond(choices);
  };

  const answer = async (interaction: Interaction): Promise<void> => {
    if (interaction.inGuild()) {
      if (interaction.isChatInputCommand() || interaction.isContextMenuCommand()) return slash(interaction);
      if (interaction.isMessageComponent() || interaction.isModalSubmit()) return press(interaction);
      if (interaction.isAutocomplete()) return complete(interaction);
    }
    if (interaction.isRepliable()) {
      await interaction.reply({ content: wordsIn(interaction.locale)("door not-here"), flags: onlyForAsker });
    }
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

function workOf(command: Command | undefined, path: string, interaction: SlashInteraction | MenuInteraction): Work | undefined {
  if (!interaction.isChatInputCommand()) {
    const menu = command?.menu;
    return menu === undefined ? undefined : (call) => menu(call, interaction);
  }
  const run = path === "" ? command?.run : command?.subcommands?.[path];
  return run === undefined ? undefined : (call) => run(interaction.options, call, interaction);
}

/** What follows the name of the command, such as `loa start`. */
function pathOf({ options }: SlashInteraction): string {
  return [options.getSubcommandGroup(false), options.getSubcommand(false)].filter((part) => part !== null).join(" ");
}
