import type { ComponentInteraction, Control, FormInteraction, Reply, Row } from "../../../discord/command.ts";
import type { GuideContext, GuidePage, GuidePart, GuideStep } from "../../../commands/guide.ts";
import { buttonOf, rowOf } from "../../../commands/press.ts";
import { translator, type Translate } from "../../../kit/say.ts";
import type { Verbs } from "../../../commands/verbs.ts";

/** The steps in the order in which a server is set up; what is not named here comes last. */
const order: readonly string[] = ["roles", "channels", "policies", "key"];

type Presser = Omit<GuideContext, "customIdOf">;

/** The guide through the steps of the features. What is there already is read from what is stored. */
export function createWizard(parts: readonly GuidePart[]) {
  const steps = parts.flatMap(({ step }) => step ?? []).toSorted((one, other) => placeIn(order, one.name) - placeIn(order, other.name));
  const contextOf = (step: GuideStep, presser: Presser): GuideContext => ({
    ...presser,
    customIdOf: (what) => `sw:act:${step.name}:${what}`,
  });

  function stepOf(name?: string): GuideStep {
    const step = steps.find((one) => one.name === name) ?? steps[0];
    if (step === undefined) throw new Error("the guide has no step");
    return step;
  }

  function replyOf(step: GuideStep, { text, rows }: GuidePage, t: Translate): Reply {
    const at = steps.indexOf(step);
    const head = t("setup head", { step: at + 1, steps: steps.length });
    return { content: `${head}\n${text}`, components: [...rows, wayOn(at, t)] };
  }

  /** To the step before, to the next one, and out. Every step can be passed over. */
  function wayOn(at: number, t: Translate): Row {
    const [before, next] = [steps[at - 1], steps[at + 1]];
    const last = next === undefined ? "setup done" : "setup leave";
    return rowOf(
      ...(before === undefined ? [] : [buttonOf(t("setup back"), `sw:show:${before.name}`)]),
      ...(next === undefined ? [] : [buttonOf(t("setup next"), `sw:show:${next.name}`, 1)]),
      buttonOf(t(last), "sw:end", next === undefined ? 3 : 2),
    );
  }

  return {
    async begin(presser: Presser): Promise<Reply> {
      const first = stepOf();
      return replyOf(first, await first.page(contextOf(first, presser)), presser.t);
    },
    /** Menus and buttons of the guide: `sw:show:<step>`, `sw:act:<step>:<what>`, `sw:end`. They hold no state. */
    controls: (verbs: Verbs): Control[] => [
      {
        name: "sw",
        updates: () => true,
        async run([verb, name, what = ""], call, interaction) {
          const t = translator(interaction.locale);
          if (verb === "end") return { content: t("setup ended"), components: [] };
          const step = stepOf(name);
          const ground = contextOf(step, { verbs, call, t });
          const values = interaction.isAnySelectMenu() ? interaction.values : [];
          const answer = verb === "act" ? await step.act(ground, what, values, shownIn(interaction)) : undefined;
          if (answer !== undefined && "content" in answer) return withWayBack(answer, step, t);
          return replyOf(step, answer ?? (await step.page(ground)), t);
        },
      },
    ],
  };
}

export function placeIn(names: readonly string[], name: string): number {
  const at = names.indexOf(name);
  return at === -1 ? names.length : at;
}

/** What a menu of roles showed as chosen: the rest of what is stored was not in question. */
function shownIn(interaction: ComponentInteraction | FormInteraction): readonly string[] {
  if (!interaction.isRoleSelectMenu()) return [];
  // A message that was changed since has the menu no more.
  const component = interaction.component as typeof interaction.component | null;
  const menu = component !== null && "toJSON" in component ? component.toJSON() : component;
  return (menu?.default_values ?? []).map(({ id }) => id);
}

/** A change that is held takes the place of the step, with a way back to it. */
function withWayBack(reply: Reply, step: GuideStep, t: Translate): Reply {
  const back = rowOf(buttonOf(t("setup to-guide"), `sw:show:${step.name}`));
  return { ...reply, components: [...(reply.components ?? []), back] };
}
