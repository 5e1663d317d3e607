import type { ComponentInteraction, Control, FormInteraction, Reply, Row } from "../../../discord/command.ts";
import { channelsStep } from "./channels.ts";
import type { SetupContext, SetupPage, SetupStep } from "./step.ts";
import { buttonOf, rowOf } from "../../../commands/press.ts";
import { keyStep } from "./clients.ts";
import { policiesStep } from "./policies.ts";
import { rolesStep } from "./roles.ts";
import { translator, type Translate } from "../../../kit/say.ts";
import type { Verbs } from "../../../commands/verbs.ts";

const steps: readonly SetupStep[] = [rolesStep, channelsStep, policiesStep, keyStep];
const [first = rolesStep] = steps;

/** The guide at its first step. What is there already is read from what is stored. */
export async function wizardReply(ground: SetupContext): Promise<Reply> {
  return replyOf(first, await first.page(ground), ground.t);
}

/** Menus and buttons of the guide: `sw:show:<step>`, `sw:act:<step>:<what>`, `sw:end`. They hold no state. */
export function createWizardControls(verbs: Verbs): Control[] {
  return [
    {
      name: "sw",
      updates: () => true,
      async run([verb, name, what = ""], call, interaction) {
        const t = translator(interaction.locale);
        const ground: SetupContext = { verbs, call, t };
        if (verb === "end") return { content: t("setup ended"), components: [] };
        const step = steps.find((one) => one.name === name) ?? first;
        const values = interaction.isAnySelectMenu() ? interaction.values : [];
        const answer = verb === "act" ? await step.act(ground, what, values, shownIn(interaction)) : undefined;
        if (answer !== undefined && "content" in answer) return withWayBack(answer, step, t);
        return replyOf(step, answer ?? (await step.page(ground)), t);
      },
    },
  ];
}

function replyOf(step: SetupStep, { text, rows }: SetupPage, t: Translate): Reply {
  const at = steps.indexOf(step);
  const head = t("setup head", { step: at + 1, steps: steps.length });
  return { content: `${head}\n${text}`, components: [...rows, wayOn(at, t)] };
}

/** What a menu of roles showed as chosen: the rest of what is stored was not in question. */
function shownIn(interaction: ComponentInteraction | FormInteraction): readonly string[] {
  if (!interaction.isRoleSelectMenu()) return [];
  // A message that was changed since has the menu no more.
  const component = interaction.component as typeof interaction.component | null;
  const menu = component !== null && "toJSON" in component ? component.toJSON() : component;
  return (menu?.default_values ?? []).map(({ id }) => id);
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

/** A change that is held takes the place of the step, with a way back to it. */
function withWayBack(reply: Reply, step: SetupStep, t: Translate): Reply {
  const back = rowOf(buttonOf(t("setup to-guide"), `sw:show:${step.name}`));
  return { ...reply, components: [...(reply.components ?? []), back] };
}
