import { createCommandRunner } from "./commands/runner.ts";
import { createFiles } from "./commands/files.ts";
import { createPendingInteractions, type PendingInteractions } from "./commands/pending-interactions.ts";
import type { CommandTable } from "./commands/table.ts";
import { translator } from "./kit/say.ts";
import type { Control } from "./discord/command.ts";
import { createVerbs, type RequestPlaces, type Verbs, type VerbsDeps } from "./commands/verbs.ts";
import type { Core } from "./core.ts";
import { addSeconds } from "./kernel/clock.ts";
import type { InteractionHandlers } from "./discord/interactions/dispatcher.ts";
import type { AuditService } from "./features/audit/audit.service.ts";
import type { AccessDirectory } from "./features/permissions/access/access-directory.ts";

export type AroundVerbs = (verbs: Verbs) => Verbs;

interface InteractionsDeps extends Pick<Core, "claims" | "clock" | "discord" | "limiters" | "operator" | "publicUrl"> {
  audit: Pick<AuditService, "noteDenied">;
  access: Pick<AccessDirectory, "actorOf">;
  requestPlaces: RequestPlaces;
}

interface InteractionsOptions extends Pick<VerbsDeps, "routes" | "switchedOff"> {
  known: { permissions: VerbsDeps["knownPermissions"] };
  table: CommandTable;
  /** The buttons and menus that features add to those of commands. */
  controlsOf: (verbs: Verbs, kept: PendingInteractions) => readonly Control[];
  aroundVerbs?: AroundVerbs | undefined;
}

/** Discord tells nobody twice of an interaction that is older. */
const daySeconds = 86_400;

/** What answers slash commands, buttons, menus and forms: the operations of the HTTP routes. */
export function createInteractions(
  { claims, clock, discord, limiters, operator, publicUrl, audit, access, requestPlaces }: InteractionsDeps,
  { routes, known, table, controlsOf, switchedOff, aroundVerbs = (verbs) => verbs }: InteractionsOptions,
): InteractionHandlers {
  const files = createFiles(discord.attachments);
  const verbs = aroundVerbs(
    createVerbs({ clock, limiters, requests: requestPlaces, routes, knownPermissions: known.permissions, switchedOff, ...files }),
  );
  const kept = createPendingInteractions();
  const { commandIds } = discord;
  const { commands, controls } = createCommandRunner({ table, verbs, kept, clock, publicUrl, operator, commandIds });
  return {
    commands,
    controls: [...controls, ...controlsOf(verbs, kept)],
    translator: translator,
    claim: claims && ((id) => claims.take(`interaction ${id}`, addSeconds(clock.now(), daySeconds))),
    actorOf: access.actorOf,
    noteDenied: audit.noteDenied,
    denialOf: verbs.denialOf,
  };
}
