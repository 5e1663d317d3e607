import type { Change } from "../../cluster/changes.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import type { DiscordActions } from "../../discord-actions/discord-actions.ts";
import type { CausesInForce } from "../../discord-actions/in-force.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { Conflicts } from "../links/conflicts.ts";
import type { LinkReach } from "../links/reach.ts";
import type { NativeRecords } from "../native-actions/records.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import type { WorkflowsService } from "../workflows/requests/workflows.service.ts";
import { createListActions } from "./actions.service.ts";
import { createBreaker } from "./breaker.ts";
import { createEndedByHand } from "./by-hand.ts";
import { createListCauses } from "./causes.ts";
import { createListChecks, type ListChecks } from "./checks.ts";
import { createExemptionsService } from "./exemptions.service.ts";
import { createFollowedLists } from "./followed-lists.ts";
import type { FollowedEntries } from "../follows/entries.ts";
import { createLedger, createLedgerSweep } from "./ledger.ts";
import { listCommands, listEntries } from "./lists.commands.ts";
import { listsRoutes } from "./lists.routes.ts";
import { createOwnList, type ListSource } from "./own-list.ts";
import { createPreviews, type Previews } from "./preview.ts";
import { createProposals } from "./proposals.ts";
import { createReconcile } from "./reconcile.ts";
import { createRules, type Rules } from "./rules.ts";
import { createRoleWatch } from "./stance-roles.ts";
import { createStances } from "./stances.service.ts";
import { createListWorker, type ListWorker } from "./worker.ts";

/** Who is to be compared with the lists again: asked for by every feature that changes what lists say. */
export const listChecks = feature({ create: () => ({ listChecks: createListChecks() }) });

interface PreviewsNeeds extends Core {
  followedEntries: FollowedEntries;
  access: AccessDirectory;
  matches: MatchesService;
  reach: LinkReach;
}

/** What lists say, what guilds want done about it, and what would follow. */
export const listRules = feature({
  create(deps: PreviewsNeeds) {
    const ownList = createOwnList(deps);
    const [sources, rules]: [ListSource[], Rules] = [[ownList, createFollowedLists(deps.followedEntries)], createRules(deps)];
    const listPreviews = createPreviews({ ...deps, sources, ownList, rules, most: deps.config.actionBreaker });
    return { listSources: sources, listRules: rules, listPreviews };
  },
  async load({ listRules: rules, listSources: sources, changes }) {
    const loadSources = async (): Promise<void> => {
      for (const source of sources) await source.load();
    };
    const learn = ({ keys }: Change): unknown => {
      for (const source of sources) source.learn(keys ?? []);
      return keys === undefined ? loadSources() : undefined;
    };
    changes.listen(["account_links", "matches", "followed_entries"], learn, async () => {
      for (const source of sources) await source.catchUp();
    });
    await rules.memory.follow(changes);
    await loadSources();
  },
});

interface ListsNeeds extends Core {
  listChecks: ListChecks;
  listSources: readonly ListSource[];
  listRules: Rules;
  listPreviews: Previews;
  followedEntries: FollowedEntries;
  access: AccessDirectory;
  audit: AuditService;
  events: Pick<EventsService, "emit" | "onEmit" | "onOthers">;
  workflows: WorkflowsService;
  nativeRecords: Pick<NativeRecords, "registerEnding">;
  discordActions: Pick<DiscordActions, "tasksOf">;
  causesInForce: CausesInForce;
  reach: LinkReach;
  conflicts: Conflicts;
}

/** What guilds do about listed people. */
export const lists = feature({
  create(deps: ListsNeeds) {
    const { config, conflicts, listChecks: checks, listSources: sources, listRules: rules, listPreviews: previews } = deps;
    const most = config.actionBreaker;
    const ledger = createLedger(deps);
    const work: { worker?: ListWorker } = {};
    const breaker = createBreaker({ ...deps, ledger, conflicts, most, wake: () => work.worker?.wake() });
    const worker = createListWorker({
      ...deps,
      checks,
      sources,
      reconcile: createReconcile({ ...deps, sources, rules, breaker, ledger }),
      ledger,
      proposals: createProposals({ ...deps, ledger }),
    });
    work.worker = worker;
    // A match is a membership of a listed server that somebody has shared.
    const roleWatch = createRoleWatch({ ...deps, rules, checks });
    deps.events.onEmit((tx, { type, data }) => {
      if (type === "staff_role.changed") roleWatch.staffRoleChanged(tx);
      if ((type === "match.opened" || type === "match.closed") && typeof data["user_id"] === "string") checks.ask(tx, [data["user_id"]]);
    });
    const nameOf = (listId: string) => sources.map((source) => source.nameOf(listId)).find((name) => name !== undefined);
    const stances = createStances({ ...deps, rules, previews, checks, conflicts, nameOf });
    deps.followedEntries.onChange(checks.ask);
    deps.followedEntries.onEnd((tx, listId) => stances.forgetList(tx, listId));
    const services = {
      stances,
      exemptions: createExemptionsService({ ...deps, checks, conflicts }),
      breaker,
      actions: createListActions({ ...deps, ledger, conflicts, wake: worker.wake }),
    };
    deps.nativeRecords.registerEnding(createEndedByHand(ledger));
    deps.causesInForce.register(createListCauses(ledger));
    return { lists: { ...services, worker, sweep: createLedgerSweep(deps), roleWatch } };
  },
  commands: listCommands,
  guide: { entries: listEntries },
  routes: ({ lists }) => listsRoutes(lists),
  jobs: ({ lists }) => ({
    exemptions: { run: lists.exemptions.expireDue, nextDue: lists.exemptions.nextDue },
    listActions: lists.sweep,
    stanceRoles: lists.roleWatch.look,
  }),
  start({ lists, events }) {
    events.onOthers(lists.worker.wake);
    lists.worker.start();
  },
  stop: ({ lists }) => ({ lists: lists.worker.stop }),
});
