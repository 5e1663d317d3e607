import type { AutocompleteInteraction, Interaction } from "discord.js";
import type { Logger } from "pino";
import type { Actor, Call } from "../../kernel/call.ts";
import { callerOf, type Denial, isDenial, type NoteDenied, requiredBy } from "../../kernel/denied.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";
import type {
  Choice,
  Command,
  ComponentInteraction,
  Control,
  FormInteraction,
  MenuInteraction,
  Reply,
  SlashInteraction,
  Form,
  Opened,
} from "../command.ts";
import { fitChoices, fitForm } from "./component-limits.ts";
import type { ServedGuilds } from "../guild-state.ts";
import { inEnglish, type Translate } from "../../kit/say.ts";
import { onlyForAsker, messageOf, neutralReply } from "../replies.ts";
import { refusalReply, RefusedCommand, type RefusedAt } from "../refusal.ts";
import { typedIn, typedOffer } from "../typed.ts";
import { safeError, refusalStatus } from "../rest/errors.ts";

type Repliable = SlashInteraction | MenuInteraction | ComponentInteraction | FormInteraction;

interface Outcome {
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
function createAnswers({ translator, logger }: AnswersOptions) {
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

/** What answers interactions, and who is behind them. */
export interface InteractionHandlers {
  commands: readonly Command[];
  /** What buttons, menus and forms do. */
  controls?: readonly Control[];
  /** The texts of a language, by the name Discord has for it; English by default. */
  translator?: (language: string) => Translate;
  /** The person behind an interaction, with their access. */
  actorOf(userId: string): Promise<Actor> | Actor;
  /** Whether an interaction is this process's to answer, where another one may be told of it, too. */
  claim?: ((interactionId: string) => Promise<boolean>) | undefined;
  /** Called for every command that was refused for lack of rights. */
  noteDenied?: NoteDenied;
  /** What a refusal was about, if the handler knows it; other refusals are noted under the name of the command. */
  denialOf?: (error: unknown) => Denial | undefined;
}

interface DispatcherOptions extends InteractionHandlers {
  /** Everything is refused in every other guild. */
  served: ServedGuilds;
  logger: Logger;
}

export interface Dispatcher {
  /** Answers one interaction; never rejects. */
  handle(interaction: Interaction): Promise<void>;
  /** Resolves when no command is running. */
  idle(): Promise<void>;
}

/** Whether the refused person administers the server: the service may have no owner yet. */
function mayBeFirstOwner(error: unknown, { memberPermissions }: Repliable): boolean {
  return error instanceof ProblemError && error.code === "acting_user_not_staff" && memberPermissions.has("Administrator");
}

/** How long a claim may take of the three seconds that there are for the first answer. */
const claimMs = 1000;

type Work = (call: Call) => Promise<Reply> | Reply;

/** Handles interactions: acknowledges at once, finds the person and the handler, runs it, and answers; each failure has one wording. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const {
    commands,
    controls = [],
    served,
    actorOf,
    noteDenied,
    denialOf = () => undefined,
    translator = () => inEnglish,
    claim,
    logger,
  } = options;
  const { failureOf, deliver, send, showForm } = createAnswers({ translator, logger });
  const byName = new Map(commands.map((command) => [`${String(command.payload.type ?? 1)}:${command.payload.name}`, command]));
  const controlOf = new Map(controls.map((control) => [control.name, control]));
  const running = new Set<Promise<void>>();

  type Asking = { id: string; guildId: string; user: { id: string } };

  const callOf = async ({ id, guildId, user }: Asking): Promise<Call> => {
    const actor = await actorOf(user.id);
    return { client: null, actor, via: "slash", requestId: id, idempotency: null, replayed: false, guildId };
  };

  const outcomeOf = async (interaction: Repliable, name: string, work: Work | undefined): Promise<Outcome> => {
    const t = translator(interaction.locale);
    // A refused form answers with what was typed into it.
    const typed = interaction.isModalSubmit() ? typedOffer(typedIn(interaction), t) : { files: [], notes: [] };
    const unserved = (content: string): Outcome => ({
      reply: { content: [content, ...typed.notes].join("\n"), files: typed.files },
      isRefusal: true,
    });
    if (!served.has(interaction.guildId)) return unserved(t("door other-server"));
    if (work === undefined) return unserved(t("door unknown"));
    let call: Call | undefined;
    try {
      call = await callOf(interaction);
      return { reply: await work(call), isRefusal: false };
    } catch (thrown) {
      const { refusal: error, findGiven, offer } = thrown instanceof RefusedCommand ? thrown : new RefusedCommand(thrown, undefined);
      if (call !== undefined && isDenial(error)) {
        const denial = denialOf(error) ?? { action: requiredBy(error) ?? name, code: error.code, isAboutRecord: false };
        noteDenied?.({ caller: callerOf(call), ...denial });
      }
      const hints = mayBeFirstOwner(error, interaction) ? [t("door new-here")] : [];
      const notes = [...(offer.notes ?? []), ...hints, ...typed.notes];
      const { reply, isRefusal } = failureOf(error, interaction, name, { findGiven, notes });
      const { components, files = [] } = offer;
      return { reply: { ...reply, ...(components !== undefined && { components }), files: [...files, ...typed.files] }, isRefusal };
    }
  };

  const slash = async (interaction: SlashInteraction | MenuInteraction): Promise<void> => {
    const command = byName.get(`${String(interaction.commandType)}:${interaction.commandName}`);
    const path = interaction.isChatInputCommand() ? pathOf(interaction) : "";
    const name = `/${interaction.commandName} ${path}`.trim();
    if (
      await showForm(interaction, name, () =>
        served.has(interaction.guildId) ? command?.opens?.(path, interaction, () => callOf(interaction)) : undefined,
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
      (await showForm(interaction, name, () =>
        served.has(interaction.guildId) ? control?.opens?.(args, interaction, () => callOf(interaction)) : undefined,
      ))
    )
      return;
    const updates = control?.updates?.(args) === true && (interaction.isMessageComponent() || interaction.isFromMessage());
    if (updates) await interaction.deferUpdate();
    else await interaction.deferReply({ flags: onlyForAsker });
    const work: Work | undefined = control === undefined ? undefined : (call) => control.run(args, call, interaction);
    const outcome = await outcomeOf(interaction, name, work);
    if (updates && outcome.isRefusal) await deliver(interaction, outcome.reply, "follow-privately");
    else await send(interaction, outcome);
  };

  const complete = async (interaction: AutocompleteInteraction<"cached" | "raw">): Promise<void> => {
    const run = byName.get(`1:${interaction.commandName}`)?.autocomplete;
    let choices: readonly Choice[] = [];
    try {
      if (run !== undefined && served.has(interaction.guildId)) {
        // The value is unchecked input from the wire.
        const { name, value }: { name: string; value: unknown } = interaction.options.getFocused(true);
        const typed = typeof value === "string" || typeof value === "number" ? value.toString() : "";
        choices = fitChoices(await run({ name, value: typed }, await callOf(interaction), interaction));
      }
    } catch (error) {
      if (refusalReply(error) === undefined) logger.error({ err: error, command: interaction.commandName }, "an autocompletion failed");
    }
    await interaction.respond(choices);
  };

  /** A storage that does not answer keeps nobody from hearing so in time: Discord, too, takes one first answer alone. */
  const isOurs = async ({ id }: Interaction): Promise<boolean> => {
    if (claim === undefined) return true;
    const waited = new AbortController();
    const late = pause(claimMs, waited.signal).then(() => true);
    return await Promise.race([claim(id), late])
      .catch(() => true)
      .finally(() => waited.abort());
  };

  const answer = async (interaction: Interaction): Promise<void> => {
    // Choices change nothing.
    if (!interaction.isAutocomplete() && !(await isOurs(interaction))) return;
    if (interaction.inGuild()) {
      if (interaction.isChatInputCommand() || interaction.isContextMenuCommand()) return slash(interaction);
      if (interaction.isMessageComponent() || interaction.isModalSubmit()) return press(interaction);
      if (interaction.isAutocomplete()) return complete(interaction);
    }
    if (interaction.isRepliable()) {
      await interaction.reply({ content: translator(interaction.locale)("door not-here"), flags: onlyForAsker });
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

/** The part after the name of the command, such as `loa start`. */
function pathOf({ options }: SlashInteraction): string {
  return [options.getSubcommandGroup(false), options.getSubcommand(false)].filter((part) => part !== null).join(" ");
}
