import { nobodyNamed, type Operator } from "../config/config.ts";
import type { Choice, Command, ComponentInteraction, Control, Form, FormInteraction, Reply } from "../discord/command.ts";
import type { CommandIds } from "../discord/registration/command-ids.ts";
import type { Call } from "../kernel/call.ts";
import { refusalIn, RefusedCommand } from "../discord/refusal.ts";
import { isDenial } from "../kernel/denied.ts";
import { ProblemError, problems } from "../kernel/errors.ts";
import { isHeld } from "../kernel/held.ts";
import type { Page } from "../kernel/page.ts";
import { annotated } from "../operations/route.ts";
import type { Entry, CommandInput, SourceSpec, Wording } from "./entry.ts";
import { givenFinder } from "./given-fields.ts";
import { againRow, answerFormId, answerMode, fillControl, fillReply, formOf, keepForm } from "./forms.ts";
import { parseForm, parseOptions, joined } from "./input.ts";
import { heldReply, pressed, buttonOf, rowOf } from "./press.ts";
import type { PendingInteraction, PendingInteractions } from "./pending-interactions.ts";
import { createLists } from "./lists.ts";
import { menuCommand, type MenuSteps } from "./menus.ts";
import { commandPayloads } from "./payloads.ts";
import { rawReply } from "./gallery.ts";
import { showView } from "./show.ts";
import { type CommandTable, nameOf } from "./table.ts";
import { translator } from "./texts.ts";
import type { Verbs } from "./verbs.ts";

const choiceLimit = 25;

export interface CommandRunner {
  commands: Command[];
  controls: Control[];
}

/** What answers name besides the service itself. */
export interface Surroundings {
  operator?: Operator;
  commandIds?: CommandIds;
}

/**
 * The commands of the table, doing what they say through the verbs of the HTTP routes.
 * @param publicUrl where people reach the service by browser
 */
export function createCommandRunner(
  table: CommandTable,
  verbs: Verbs,
  kept: PendingInteractions,
  publicUrl: () => string,
  { operator = nobodyNamed, commandIds = () => Promise.resolve(new Map()) }: Surroundings = {},
): CommandRunner {
  const { entries, entryOf, menus, sources } = table;
  const lists = createLists({ entryOf, verbs, kept, wordingOf });

  function wordingOf(language: string, call: Call, given: CommandInput): Wording {
    const wording: Wording = {
      t: translator(language),
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

  type Step = (asked: PendingInteraction, call: Call, language: string) => Promise<Reply>;

  /** A step whose refusals know where the person gave what they find wrong. */
  function naming(step: Step): Step {
    return async (asked, call, language) => {
      try {
        return await step(asked, call, language);
      } catch (error) {
        const refusal = refusalIn(error);
        if (refusal === undefined) throw error;
        throw new RefusedCommand(refusal, givenFinder(entryOf(asked.entry), asked.given, verbs.sentWith(error), language));
      }
    };
  }

  const perform = naming(async (asked, call, language) => {
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

  /** What was given is complete: what else is needed is looked up, and it is asked about first where it could do harm. */
  const begin = naming(async (asked, call, language) => {
    const entry = entryOf(asked.entry);
    const { locate, asks, fills, form = [] } = entry;
    const located = locate === undefined ? {} : await locate(asked.given, call, verbs);
    const whole = { ...asked, given: { ...asked.given, values: { ...asked.given.values, ...located } } };
    const t = translator(language);
    if (fills !== undefined && form.some(({ name }) => whole.given.values[name] === undefined))
      return fillReply(entry, kept, whole, await fills(whole.given, call, verbs), t);
    if (asks === undefined) return await perform(whole, call, language);
    // Nobody is asked about what they may not do. What a file holds is not read for that.
    if (Object.keys(whole.given.files).length === 0)
      verbs.check(entry.operationFor?.(whole.given) ?? entry.operation, call, entry.input(whole.given, call));
    const question = await asks(wordingOf(language, call, whole.given), verbs);
    if (question === undefined) return await perform(whole, call, language);
    const { content, about, filled } = typeof question === "string" ? { content: question, about: {} } : question;
    const isAnswered = filled === undefined ? {} : ({ isAnswered: true } as const);
    const given = joined(whole.given, { values: { ...about, ...filled }, files: {} });
    const key = kept.keep({ ...whole, ...isAnswered, typed: asked.given, given });
    const go = filled === undefined ? buttonOf(t("button go"), `go:${key}:yes`, 4) : buttonOf(t("button continue"), answerFormId(key), 4);
    return { content, components: [rowOf(go, buttonOf(t("button cancel"), `go:${key}:no`))] };
  });

  /** What was typed into a form is not lost with a refusal that another try can put right. */
  function offerAgain(error: unknown, asked: PendingInteraction, language: string): never {
    if (!(error instanceof RefusedCommand) || isDenial(error.refusal)) throw error;
    throw new RefusedCommand(error.refusal, error.findGiven, [againRow(kept, asked, translator(language))]);
  }

  function askedFor(entry: Entry, given: CommandInput, userId: string): PendingInteraction {
    return { userId, entry: nameOf(entry), given, cursors: [] };
  }

  /** Whether it can be told by now that somebody may not do this, whatever they fill in. */
  function isRefused({ operation, operationFor, locate, input }: Entry, given: CommandInput, call: Call | undefined): boolean {
    if (call === undefined || operationFor !== undefined || locate !== undefined) return false;
    try {
      verbs.require(operation, call, input(given, call).params);
      return false;
    } catch (error) {
      return isDenial(error);
    }
  }

  function opens(entry: Entry | undefined, given: CommandInput, userId: string, language: string, call?: Call): Form | undefined {
    if (entry?.form === undefined || entry.fills !== undefined || entry.formAfterQuestion === true) return undefined;
    if (isRefused(entry, given, call)) return undefined;
    const isComplete = entry.form.every(({ name, required }) => required !== true || given.values[name] !== undefined);
    const isAsked = entry.formWhen?.(given) ?? entry.form.some(({ name }) => given.values[name] === undefined);
    if (isComplete && !isAsked) return undefined;
    return formOf(entry, `fm:${kept.keep(askedFor(entry, given, userId))}`, given, language);
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
        return opens(entry, given, interaction.user.id, interaction.locale, call);
      },
      async autocomplete({ name, value }, call, interaction): Promise<Choice[]> {
        const given = parseOptions(interaction.options as never);
        const t = translator(interaction.locale);
        const path = [interaction.options.getSubcommandGroup(false), interaction.options.getSubcommand(false)].filter(
          (part) => part !== null,
        );
        const option = of.find((one) => one.path === path.join(" "))?.options?.find((one) => one.name === name);
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
        begin(askedFor(entry, { ...parseOptions(options), channel: interaction.channelId }, interaction.user.id), call, interaction.locale),
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
        const filled = interaction.isModalSubmit() ? parseForm(interaction) : { values: {}, files: {} };
        const withForm = (given: CommandInput) => ({ ...asked, given: joined(withoutForm(entryOf(asked.entry), given), filled) });
        const done = (isAnswered === true ? perform : begin)(withForm(asked.given), call, interaction.locale);
        // What was shown may be otherwise by now: another try begins with what was typed.
        return done.catch((error: unknown) => offerAgain(error, withForm(typed ?? asked.given), interaction.locale));
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
          if (error instanceof RefusedCommand && "retryable" in problems[error.refusal.code]) kept.giveBack(key);
          else if (asked.typed !== undefined && entryOf(asked.entry).form !== undefined)
            offerAgain(error, { ...asked, given: asked.typed }, interaction.locale);
          throw error;
        }
      },
    },
    {
      name: "do",
      updates: ([name]) => entries.some(({ press }) => press?.name === name && press?.replaces === true),
      opens(args, interaction) {
        const found = pressed(entries, args, pickedIn(interaction));
        return found && opens(found.entry, found.given, interaction.user.id, interaction.locale);
      },
      run(args, call, interaction) {
        const found = pressed(entries, args, pickedIn(interaction));
        if (found === undefined)
          throw new ProblemError("invalid_transition", { detail: "This is not known any more. Give the command again." });
        return begin(askedFor(found.entry, found.given, interaction.user.id), call, interaction.locale);
      },
    },
    fillControl(kept, entryOf),
    ...lists.controls,
  ];

  const steps: MenuSteps = {
    menus,
    opens: (asked, language, call) => opens(entryOf(asked.entry), asked.given, asked.userId, language, call),
    begin,
  };
  const commands = commandPayloads(table).map((payload) =>
    payload.type === undefined || payload.type === 1 ? commandOf(payload) : menuCommand(payload, steps),
  );
  return { commands, controls };
}

/** A form that is sent says all of its fields anew: one that was cleared is not given. */
function withoutForm({ form = [] }: Entry, given: CommandInput): CommandInput {
  const fields = new Set(form.map(({ name }) => name));
  return { ...given, values: Object.fromEntries(Object.entries(given.values).filter(([name]) => !fields.has(name))) };
}

/** What was picked in a menu. */
function pickedIn(interaction: ComponentInteraction | FormInteraction): string | undefined {
  return interaction.isStringSelectMenu() ? interaction.values[0] : undefined;
}
