import type { Component } from "./components.ts";
import type { OptionValue } from "./command-options.ts";
import { filesOf, type ShownFile } from "./files.ts";
import type { Interaction, Modal, Opening } from "./interaction.ts";
import type { Interactions } from "./interactions.ts";
import { buttonOpening, findButton, findSelect, selectOpening, type ButtonChoice } from "./message-controls.ts";
import { isEphemeral } from "./message-payload.ts";
import type { Message, World } from "./model.ts";
import { modalOpening, type FieldValues } from "./modal-fields.ts";
import type { Signal } from "./signal.ts";

/** How long a run waits for the application by default, in milliseconds. */
const patienceMs = 60_000;

/** A message as a user sees it. */
export type Shown = {
  id: string;
  content: string;
  embeds: Message["embeds"];
  components: Component[];
  attachments: ShownFile[];
  flags: number;
  ephemeral: boolean;
};

export type RunContext = { world: World; signal: Signal; interactions: Interactions };

/** An interaction from the user's side. Waits are in milliseconds and reject when the application misses its deadline. */
export type Run = {
  readonly interaction: Interaction;
  /** Settles at the first answer: its type and how long it took. */
  readonly acked: Promise<NonNullable<Interaction["ack"]>>;
  /** The final answer: a deferral does not count. Rejects when the answer is a modal, or none comes. */
  reply(ms?: number): Promise<Shown>;
  /** What the answer shows now, if there is one. */
  current(): Shown | undefined;
  followups(): Shown[];
  modal(ms?: number): Promise<Modal>;
  /** Presses a button of the answer or a follow-up, found by label or custom id; waits until it is there. */
  clickButton(choice: ButtonChoice, ms?: number): Promise<Run>;
  /** Chooses in a select menu of the answer, found by custom id. */
  select(customId: string, values: readonly OptionValue[], ms?: number): Promise<Run>;
  /** Fills in and sends the modal the application answered with; fields by custom id or label. */
  submitModal(values: FieldValues, ms?: number): Promise<Run>;
};

export const showMessage = (world: World, message: Message): Shown => ({
  id: message.id,
  content: message.content,
  embeds: message.embeds,
  components: message.components as unknown as Component[],
  attachments: filesOf(world, message),
  flags: message.flags,
  ephemeral: isEphemeral(message),
});

/** Opens an interaction and follows it from the user's side. */
export function createRun(context: RunContext, opening: Opening): Run {
  const { signal, interactions } = context;
  const { target: _target, ...unaimed } = opening;
  const interaction = interactions.open(opening);
  const label = `/${interaction.name}`;

  function requireAlive(): void {
    if (interaction.missed) throw new Error(`${label}: the application did not respond in time`);
  }

  const wait = <T>(read: () => T, ms: number, what: string) =>
    signal.until(
      () => {
        requireAlive();
        return read();
      },
      ms,
      `${label}: ${what}`,
    );

  const acked = wait(() => interaction.ack, patienceMs, "no acknowledgement");
  // A caller may not be interested; its rejection must not end the process.
  acked.catch(() => undefined);

  const show = (message: Message): Shown => showMessage(context.world, message);

  /** Messages this interaction put before the user, newest first. */
  const messages = () =>
    [...interaction.followups.toReversed(), interaction.original, interaction.source].filter((known) => known !== null);

  const next = (changed: Pick<Opening, "type" | "data" | "source" | "name">) => createRun(context, { ...unaimed, ...changed });

  return {
    interaction,
    acked,
    async reply(ms = patienceMs) {
      await wait(() => interaction.answered, ms, "no reply");
      if (interaction.modal) throw new Error(`${label}: the answer is a modal`);
      const message = interaction.original ?? interaction.followups.at(-1);
      if (!message) throw new Error(`${label}: the answer has been deleted`);
      return show(message);
    },
    current: () => (interaction.original ? show(interaction.original) : undefined),
    followups: () => interaction.followups.map(show),
    modal: (ms = patienceMs) => wait(() => interaction.modal, ms, "no modal"),
    async clickButton(choice: ButtonChoice, ms = patienceMs) {
      const pressed = await wait(() => findButton(messages(), choice), ms, `no button ${JSON.stringify(choice)}`);
      return next(buttonOpening(pressed));
    },
    async select(customId: string, values: readonly OptionValue[], ms = patienceMs) {
      const found = await wait(() => findSelect(messages(), customId), ms, `no menu ${customId}`);
      return next(selectOpening(context.world, opening.guild, found, values));
    },
    async submitModal(values: FieldValues, ms = patienceMs) {
      const modal = await wait(() => interaction.modal, ms, "no modal");
      return next(modalOpening(context.world, opening.guild, modal, { values, source: interaction.source }));
    },
  };
}
