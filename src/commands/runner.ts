import type { Operator } from "../config/config.ts";
import type { Choice, Command, Control, Form, Reply, MenuInteraction, Opened } from "../discord/command.ts";
import type { CommandIds } from "../discord/registration/command-ids.ts";
import type { Call } from "../kernel/call.ts";
import { refusalIn, RefusedCommand, withOffer, type Offer } from "../discord/refusal.ts";
import type { Clock } from "../kernel/clock.ts";
import { ProblemError, problems, type ProblemCode } from "../kernel/errors.ts";
import { isHeld } from "../kernel/held.ts";
import type { Page } from "../kernel/page.ts";
import { annotated } from "../operations/route.ts";
import type { Entry, CommandInput, SourceSpec, Wording, MenuSpec, MenuTarget } from "./entry.ts";
import { givenFinder } from "./given-fields.ts";
import { asksForm, checkBeforeForm, type CheckDeps, maySee, refusedOptions } from "./form-checks.ts";
import {
  answerFormId,
  answerMode,
  fillControl,
  fillReply,
  formOf,
  formReply,
  keepForm,
  typedEmbed,
  withMends,
  withNumbers,
  withoutForm,
  againRow,
} from "./forms.ts";
import { parseForm, parseOptions, joined } from "./input.ts";
import { heldReply, pickedIn, pressed, buttonOf, rowOf } from "./press.ts";
import type { PendingInteraction, PendingInteractions } from "./pending-interactions.ts";
import { createLists } from "./lists.ts";
import { commandPayloads } from "./payloads.ts";
import { rawReply } from "./gallery.ts";
import { showView } from "./show.ts";
import { type CommandTable, nameOf } from "./table.ts";
import { timeChoices, withTimes } from "./time-options.ts";
import { say, translator, type Translate } from "../kit/say.ts";
import type { Verbs } from "./verbs.ts";
import { typedOffer } from "../discord/typed.ts";
import { isDenial } from "../kernel/denied.ts";

type OfferFor = (error: unknown, asked: PendingInteraction, call: Call, t: Translate) => Offer;

const aboutGiven: ReadonlySet<ProblemCode> = new Set(["validation_failed", "record_not_found"]);

/** What a refusal of a command with a form offers, so that nothing has to be typed again. */
function createFormOffers({ entries, entryOf }: Pick<CommandTable, "entries" | "entryOf">, kept: PendingInteractions) {
  /** The form asks for the options that were refused, where it has room for them. */
  function mended(error: unknown, asked: PendingInteraction, call: Call): PendingInteraction {
    const refusal = refusalIn(error);
    if (refusal === undefined) return asked;
    const mends = refusedOptions(entryOf(asked.entry), asked.given, call, refusal).map(({ name }) => name);
    return { ...asked, mends: [...new Set([...(asked.mends ?? []), ...mends])] };
  }

  /** Before the form was seen: it is offered where it can ask for what was refused, and otherwise the command has to be given again. */
  const beforeForm: OfferFor = (error, asked, call, t) => {
    const refusal = refusalIn(error);
    if (refusal === undefined || isDenial(error)) return {};
    const [entry, again] = [entryOf(asked.entry), mended(error, asked, call)];
    if (withMends(entry, again.mends) !== entry) return { components: [againRow(kept, again, t)] };
    // What does not lie in what was given is the same at another try.
    if (!aboutGiven.has(refusal.code)) return {};
    return { notes: [entries.includes(entry) ? t("say command-again", { command: asked.entry }) : t("say menu-again")] };
  };

  /** After a form was sent. The answer to the form has what was typed, so that nothing is lost where another try is of no use. */
  const afterForm: OfferFor = (error, asked, call, t) => {
    if (isDenial(error)) return {};
    return {
      components: [againRow(kept, mended(error, asked, call), t)],
      ...(refusalIn(error) === undefined && { notes: [t("say look-first")] }),
    };
  };

  /** After a question that followed a form: its answer does not have what was typed. */
  const afterQuestion: OfferFor = (error, asked, call, t) => {
    const form = entryOf(asked.entry).form ?? [];
    const values = form.flatMap(({ name }) => {
      const value = asked.given.values[name];
      return value === undefined ? [] : [[name, value.toString()] as const];
    });
    const typed = typedOffer({ values: Object.fromEntries(values), files: (asked.given.files["files"] ?? []).map((file) => file.name) }, t);
    const offer = afterForm(error, asked, call, t);
    return { ...offer, files: typed.files, notes: [...(offer.notes ?? []), ...typed.notes] };
  };

  return { beforeForm, afterForm, afterQuestion };
}

/** How an entry goes on once it is known what it is given. */
interface MenuSteps {
  menus: readonly MenuSpec[];
  opens(asked: PendingInteraction, language: string, call: () => Promise<Call>): Opened;
  start(asked: PendingInteraction, call: Call, language: string): Promise<Reply>;
}

/** A command of a menu: the entry it is a short way to, given what it was used on. */
export function menuCommand(payload: Command["payload"], { menus, opens, start }: MenuSteps): Command {
  const askedBy = (name: string, interaction: MenuInteraction): PendingInteraction => askedWith(menus, name, interaction);

  return {
    payload,
    opens: (_path, interaction, call) =>
      interaction.isChatInputCommand() ? undefined : opens(askedBy(payload.name, interaction), interaction.locale, call),
    menu: (call, interaction) => start(askedBy(payload.name, interaction), call, interaction.locale),
  };
}

function askedWith(menus: readonly MenuSpec[], name: string, interaction: MenuInteraction): PendingInteraction {
  const menu = menus.find((one) => one.name === name);
  if (menu === undefined) throw new ProblemError("invalid_transition", { detail: say("commands.this-command-is-not-known-any-more") });
  const given = { values: menu.values(targetOf(interaction)), files: {}, channel: interaction.channelId };
  return { userId: interaction.user.id, entry: menu.entry, given, cursors: [] };
}

function targetOf(interaction: MenuInteraction): MenuTarget {
  if (!interaction.isMessageContextMenuCommand()) return { user: interaction.targetId };
  const { targetMessage, targetId, channelId, guildId } = interaction;
  const message = { id: targetId, channel: channelId, guild: guildId };
  const { author, webhookId, applicationId } = targetMessage;
  // An answer of an application names it as its web-hook, too, and is by its account.
  const isWebhook = webhookId === author.id && webhookId !== applicationId;
  return { user: isWebhook ? undefined : author.id, message };
}

const choiceLimit = 25;

export interface CommandRunner {
  commands: Command[];
  controls: Control[];
}

interface RunnerDeps {
  table: CommandTable;
  verbs: Verbs;
  kept: PendingInteractions;
  clock: Clock;
  /** Where people reach the service by browser. */
  publicUrl: () => string;
  operator: Operator;
  commandIds: CommandIds;
}

/** The commands of the table, doing what they say through the verbs of the HTTP routes. */
export function createCommandRunner({ table, verbs, kept, clock, publicUrl, operator, commandIds }: RunnerDeps): CommandRunner {
  const { entries, menuEntries, entryOf, pressOf, menus, sources } = table;
  /** Buttons and menus of answers lead to entries that no command has, too. */
  const pressable = [...entries, ...menuEntries].filter(({ press }) => press !== undefined);
  const checks: CheckDeps = { verbs, sources, clock };
  const lists = createLists({ entryOf, verbs, kept, wordingOf });
  const offers = createFormOffers(table, kept);

  function wordingOf(language: string, call: Call, given: CommandInput): Wording {
    const wording: Wording = {
      t: translator(language),
      pressOf,
      publicUrl: publicUrl(),
      operator,
      commandIds,
      call,
      given,
      keepForm: (entry, asked) => keepForm(kept, call, entry, asked),
      async shown(name, view) {
        const { show } = entryOf(name);
        return show === undefined ? showView(view, wording.t) : await show(view as never, wording, verbs);
      },
    };
    return wording;
  }

  type Step<T> = (asked: PendingInteraction, call: Call, language: string) => Promise<T>;

  /** A step whose refusals know where the person gave what they find wrong. */
  function naming<T>(step: Step<T>): Step<T> {
    return async (asked, call, language) => {
      try {
        return await step(asked, call, language);
      } catch (error) {
        const refusal = refusalIn(error);
        if (refusal === undefined) throw error;
        const entry = entryOf(asked.entry);
        const given = withTimes(entry, asked.given, clock.now());
        const input = { given, typed: asked.typed ?? asked.given, sent: verbs.sentWith(error) };
        throw new RefusedCommand(refusal, givenFinder(entry, input, language));
      }
    };
  }

  const perform: Step<Reply> = naming(async (asked, call, language) => {
    const entry = entryOf(asked.entry);
    const { given } = asked;
    const operation = entry.operationFor?.(given) ?? entry.operation;
    const spec = verbs.spec(operation);
    const wording = wordingOf(language, call, given);
    if (entry.answers !== undefined) return await entry.answers(wording, verbs);
    if (entry.asFiles === true) return await lists.files(asked, wording);
    if (spec.success.shape === "list") return await lists.page(asked, 0, wording);
    const answer = await verbs.run(operation, call, entry.input(given, call));
    if (isHeld(answer)) return heldReply(answer.confirmation_required, wording.t);
    if (spec.success.shape === "raw") return await rawReply(answer, spec, wording.t);
    const { view } = annotated(answer);
    return entry.show === undefined ? showView(view, wording.t) : await entry.show(view as never, wording, verbs);
  });

  /** What was given, with what else the verb needs, looked up. */
  async function completed(typed: PendingInteraction, call: Call): Promise<PendingInteraction> {
    const entry = entryOf(typed.entry);
    const given = withTimes(entry, typed.given, clock.now());
    const located = (await entry.locate?.(given, call, verbs)) ?? {};
    return { ...typed, given: { ...given, values: { ...given.values, ...located } } };
  }

  /** A form that is filled in with what was looked up is offered. */
  const offerFilled: Step<Reply> = naming(async (typed, call, language) => {
    const entry = entryOf(typed.entry);
    const whole = await completed(typed, call);
    const filled = (await entry.fills?.(whole.given, call, verbs)) ?? {};
    return fillReply(entry, kept, whole, filled, translator(language));
  });

  /** What was given is complete: what else is needed is looked up, and it is asked about first where it could do harm. */
  const begin: Step<Reply> = naming(async (typed, call, language) => {
    const entry = entryOf(typed.entry);
    const { asks } = entry;
    const whole = await completed(typed, call);
    const complete = { ...whole, typed: typed.given };
    const t = translator(language);
    if (asks === undefined) return await perform(complete, call, language);
    // Nobody is asked about what they may not do. What a file holds is not read for that.
    if (Object.keys(whole.given.files).length === 0)
      verbs.check(entry.operationFor?.(whole.given) ?? entry.operation, call, entry.input(whole.given, call));
    const question = await asks(wordingOf(language, call, whole.given), verbs);
    if (question === undefined) return await perform(complete, call, language);
    const { content, about, filled } = typeof question === "string" ? { content: question, about: {} } : question;
    const isAnswered = filled === undefined ? {} : ({ isAnswered: true } as const);
    const given = joined(whole.given, { values: { ...about, ...filled }, files: {} });
    const key = kept.keep({ ...complete, ...isAnswered, given });
    const go = filled === undefined ? buttonOf(t("button go"), `go:${key}:yes`, 4) : buttonOf(t("button continue"), answerFormId(key), 4);
    const components = [rowOf(go, buttonOf(t("button cancel"), `go:${key}:no`))];
    return { content, embeds: typedEmbed(entry, typed.given, language), components };
  });

  const checkFirst = naming((asked, call) => checkBeforeForm(entryOf(asked.entry), asked.given, call, checks));

  /** A command as it was given: what its form asks for is waited for once all else is sound. */
  async function start(asked: PendingInteraction, call: Call, language: string): Promise<Reply> {
    const entry = entryOf(asked.entry);
    if (!asksForm(entry, asked.given)) return await begin(asked, call, language);
    const t = translator(language);
    await checkFirst(asked, call, language).catch((thrown: unknown) => {
      throw withOffer(thrown, (error) => offers.beforeForm(error, asked, call, t));
    });
    return entry.fills === undefined ? formReply(kept, asked, t) : await offerFilled(asked, call, language);
  }

  function askedFor(entry: Entry, given: CommandInput, userId: string): PendingInteraction {
    return { userId, entry: nameOf(entry), given, cursors: [] };
  }

  async function opens(asked: PendingInteraction, language: string, call: () => Promise<Call>): Promise<Form | undefined> {
    const entry = entryOf(asked.entry);
    if (entry.fills !== undefined || !asksForm(entry, asked.given)) return undefined;
    if (!(await maySee(entry, asked.given, call, checks))) return undefined;
    return formOf(entry, `fm:${kept.keep(asked)}`, asked.given, language);
  }

  function commandOf(payload: Command["payload"]): Command {
    const of = entries.filter(({ command }) => command === payload.name);
    return {
      payload,
      ...runsOf(of),
      opens(path, interaction, call) {
        if (!interaction.isChatInputCommand()) return undefined;
        const entry = of.find((one) => one.path === path);
        const given = { ...parseOptions(interaction.options), channel: interaction.channelId };
        return entry && opens(askedFor(entry, given, interaction.user.id), interaction.locale, call);
      },
      async autocomplete({ name, value }, call, interaction): Promise<Choice[]> {
        const given = parseOptions(interaction.options as never);
        const t = translator(interaction.locale);
        const path = [interaction.options.getSubcommandGroup(false), interaction.options.getSubcommand(false)].filter(
          (part) => part !== null,
        );
        const option = of.find((one) => one.path === path.join(" "))?.options?.find((one) => one.name === name);
        if (option?.time !== undefined) return timeChoices(option.time, value, clock.now(), t);
        const source = sources[option?.completes ?? ""];
        if (source === undefined) return [];
        const found = source.read === undefined ? await listed(source, value, given, call) : await source.read(given, call, verbs, value);
        const offered = (found as readonly never[]).filter((view) => source.keeps?.(view, value, t) ?? true);
        return offered.slice(0, choiceLimit).map((view) => source.choice(view, value, t));
      },
    };
  }

  async function listed({ operation, input }: SourceSpec, typed: string, given: CommandInput, call: Call): Promise<readonly object[]> {
    return ((await verbs.run(operation, call, input(typed, given))) as Page<object>).data;
  }

  function runsOf(of: readonly Entry[]): Pick<Command, "run" | "subcommands"> {
    const runs = of.map((entry): [string, NonNullable<Command["run"]>] => [
      entry.path,
      (options, call, interaction) =>
        start(askedFor(entry, { ...parseOptions(options), channel: interaction.channelId }, interaction.user.id), call, interaction.locale),
    ]);
    const whole = runs.find(([path]) => path === "");
    return whole === undefined ? { subcommands: Object.fromEntries(runs) } : { run: whole[1] };
  }

  const controls: Control[] = [
    {
      name: "fm",
      updates: ([, mode]) => mode === answerMode,
      run([key = ""], call, interaction) {
        const { isAnswered, typed, ...asked } = kept.take(key, interaction.user.id);
        const entry = withMends(entryOf(asked.entry), asked.mends);
        const filled = interaction.isModalSubmit() ? withNumbers(entry, parseForm(interaction)) : { values: {}, files: {} };
        const withForm = (given: CommandInput) => ({ ...asked, given: joined(withoutForm(entry, given), filled) });
        const done = (isAnswered === true ? perform : begin)(withForm(asked.given), call, interaction.locale);
        // What was shown may be otherwise by now: another try begins with what was typed.
        return done.catch((thrown: unknown) => {
          const [again, t] = [withForm(typed ?? asked.given), translator(interaction.locale)];
          throw withOffer(thrown, (error) => offers.afterForm(error, again, call, t));
        });
      },
    },
    {
      name: "go",
      updates: () => true,
      async run([key = "", word = ""], call, interaction) {
        const asked = kept.take(key, interaction.user.id);
        if (word !== "yes") return { content: translator(interaction.locale)("say cancelled"), components: [] };
        try {
          return await perform(asked, call, interaction.locale);
        } catch (error) {
          // What may be well a little later can be pressed again.
          const refusal = error instanceof RefusedCommand ? error.refusal : error;
          if (refusal instanceof ProblemError && "retryable" in problems[refusal.code]) kept.giveBack(key);
          else if (asked.typed !== undefined && entryOf(asked.entry).form !== undefined) {
            const [again, t] = [{ ...asked, given: asked.typed }, translator(interaction.locale)];
            throw withOffer(error, () => offers.afterQuestion(refusal, again, call, t));
          }
          throw error;
        }
      },
    },
    {
      name: "do",
      updates: ([name]) => pressable.some(({ press }) => press?.name === name && press?.replaces === true),
      opens(args, interaction, call) {
        const found = pressed(pressable, args, pickedIn(interaction));
        return found && opens(askedFor(found.entry, found.given, interaction.user.id), interaction.locale, call);
      },
      run(args, call, interaction) {
        const found = pressed(pressable, args, pickedIn(interaction));
        if (found === undefined) throw new ProblemError("invalid_transition", { detail: say("commands.this-is-not-known-any-more-give") });
        return start(askedFor(found.entry, found.given, interaction.user.id), call, interaction.locale);
      },
    },
    fillControl(kept, entryOf),
    ...lists.controls,
  ];

  const steps: MenuSteps = { menus, opens, start };
  const commands = commandPayloads(table).map((payload) =>
    payload.type === undefined || payload.type === 1 ? commandOf(payload) : menuCommand(payload, steps),
  );
  return { commands, controls };
}
