import { say } from "../kit/say.ts";
import type { Command, MenuInteraction, Opened, Reply } from "../discord/command.ts";
import type { Call } from "../kernel/call.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { MenuSpec, MenuTarget } from "./entry.ts";
import type { PendingInteraction } from "./pending-interactions.ts";

/** How an entry goes on once it is known what it is given. */
export interface MenuSteps {
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
