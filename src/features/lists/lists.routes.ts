import { z } from "zod";
import { listQuery, Snowflake } from "../../kernel/fields.ts";
import { routesFor, type Route } from "../../operations/route.ts";
import type { Breaker } from "./breaker.ts";
import type { createListActions } from "./actions.service.ts";
import type { createExemptionsService } from "./exemptions.service.ts";
import { listsPolicy } from "./lists.policy.ts";
import {
  AddExemptionInput,
  ExemptionView,
  HeldActionsView,
  ListActionsQuery,
  ListActionView,
  PutStanceInput,
  PutStanceQuery,
  StanceView,
} from "./lists.schema.ts";
import type { StancesService } from "./stances.service.ts";

const { get, post, put, del } = routesFor("lists");
const params = z.object({ guild_id: Snowflake });
const personParams = z.object({ guild_id: Snowflake, discord_user_id: Snowflake });
const actionParams = z.object({ guild_id: Snowflake, id: z.string().min(1).max(64) });
const ListExemptionsQuery = z.strictObject(listQuery).meta({ id: "ListExemptionsQuery" });

const guildId = "41771983423143937";
const stanceExample = {
  guild_id: guildId,
  rules: [
    {
      list: "own",
      list_name: "own",
      category: "raid",
      stance: "apply",
      action: "ban",
      role_id: null,
      timeout_seconds: 2_419_200,
      min_severity: "high",
    },
  ],
  revision: 2,
  updated_by: "80351110224678912",
  updated_at: "2026-11-25T10:00:00.000Z",
  preview: { guild_id: guildId, notify: 0, propose: 0, apply: 2, take_back: 0, waiting: 0 },
} as const satisfies StanceView;
const exemptionExample = {
  guild_id: guildId,
  user_id: "80351110224678912",
  reason: "Apologised, and has helped since.",
  until: null,
  created_by: "80351110224678913",
  created_at: "2026-11-25T10:00:00.000Z",
  revision: 1,
} as const satisfies ExemptionView;
const heldExample = {
  guild_id: guildId,
  state: "waiting",
  acted: 20,
  waiting: 1,
  since: "2026-11-25T10:00:00.000Z",
  people: [{ user_id: "80351110224678912", action: "ban", record: "BL-000123" }],
} as const satisfies HeldActionsView;

const actionExample = {
  id: "0199f3a0-0000-7000-8000-000000000000",
  guild_id: guildId,
  user_id: "80351110224678912",
  list: "own",
  record: "BL-000123",
  stance: "apply",
  action: "ban",
  is_undo: false,
  state: "failed",
  error: "The bot's role is too low, or it lacks the permission.",
  created_at: "2026-11-25T10:00:00.000Z",
  updated_at: "2026-11-25T10:00:02.000Z",
} as const satisfies ListActionView;

interface Services {
  stances: StancesService;
  exemptions: ReturnType<typeof createExemptionsService>;
  breaker: Breaker;
  actions: ReturnType<typeof createListActions>;
}

/** HTTP routes for what guilds do about listed people. */
export function listsRoutes({ stances, exemptions, breaker, actions }: Services): Route[] {
  return [
    get("/guilds/{guild_id}/stance", "getStance", {
      summary: "See what a server does about listed people",
      description: "A rule for each list and category. Categories without a rule notify.",
      access: { permission: listsPolicy.read },
      request: { params },
      success: { status: 200, shape: "single", schema: StanceView, description: "The rules of the server", example: stanceExample },
      refusals: ["record_not_found"],
      handle: ({ call, params: { guild_id: id } }) => stances.get(call, id),
    }),
    put("/guilds/{guild_id}/stance", "putStance", {
      summary: "Choose what a server does about listed people",
      description:
        "Send all rules. What follows for the members the server has now follows at once: `preview` says for how many, and `dry_run` says it beforehand. What the bot did under rules that are gone is taken back.",
      access: { permission: listsPolicy.manage },
      request: {
        params,
        query: PutStanceQuery,
        body: PutStanceInput,
        example: { rules: [{ category: "raid", stance: "apply", action: "ban", min_severity: "high" }] },
      },
      success: { status: 200, shape: "single", schema: StanceView, description: "The rules as they are now", example: stanceExample },
      refusals: ["record_not_found", "precondition_failed", "conflict_of_interest", "unknown_parameter"],
      handle: ({ call, params: { guild_id: id }, query, body, ifMatch }) => stances.put(call, id, query, body, ifMatch),
    }),
    get("/guilds/{guild_id}/exemptions", "listExemptions", {
      summary: "List whom a server leaves alone",
      description: "By account; exemptions that have ended are left out.",
      access: { permission: listsPolicy.read },
      request: { params, query: ListExemptionsQuery },
      success: { status: 200, shape: "list", schema: ExemptionView, description: "A page of exemptions", example: exemptionExample },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { guild_id: id }, query }) => exemptions.list(call, id, query),
    }),
    post("/guilds/{guild_id}/exemptions", "addExemption", {
      summary: "Leave a person alone in a server",
      description: "Whatever lists say. What the bot did to them there because of lists is taken back. An earlier exemption is replaced.",
      access: { permission: listsPolicy.exempt },
      request: { params, body: AddExemptionInput, example: { user_id: "80351110224678912", reason: "Apologised, and has helped since." } },
      success: { status: 201, shape: "single", schema: ExemptionView, description: "The exemption", example: exemptionExample },
      refusals: ["record_not_found", "conflict_of_interest", "hierarchy_violation"],
      handle: ({ call, params: { guild_id: id }, body }) => exemptions.add(call, id, body),
    }),
    del("/guilds/{guild_id}/exemptions/{discord_user_id}", "removeExemption", {
      summary: "End an exemption",
      description: "What lists say about the person counts in the server again, at once.",
      access: { permission: listsPolicy.exempt },
      request: { params: personParams },
      success: { status: 200, shape: "single", schema: ExemptionView, description: "The exemption as it was", example: exemptionExample },
      refusals: ["record_not_found", "precondition_failed", "conflict_of_interest", "hierarchy_violation"],
      handle: ({ call, params: { guild_id: id, discord_user_id: userId }, ifMatch }) => exemptions.remove(call, id, userId, ifMatch),
    }),
    get("/guilds/{guild_id}/list-actions", "listListActions", {
      summary: "List what the bot does about listed people",
      description: "The newest first; by default what has failed, with the reason.",
      access: { permission: listsPolicy.read },
      request: { params, query: ListActionsQuery },
      success: { status: 200, shape: "list", schema: ListActionView, description: "A page of actions", example: actionExample },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { guild_id: id }, query }) => actions.list(call, id, query),
    }),
    post("/guilds/{guild_id}/list-actions/{id}/retry", "retryListAction", {
      summary: "Try a failed action about a listed person again",
      description: "The bot begins at once, and tries as often as for a new one. What could not be taken back is taken back.",
      access: { permission: listsPolicy.confirm },
      request: { params: actionParams },
      success: {
        status: 200,
        shape: "single",
        schema: ListActionView,
        description: "The action is due again",
        example: { ...actionExample, state: "pending" },
      },
      refusals: ["record_not_found", "invalid_transition", "conflict_of_interest", "hierarchy_violation"],
      handle: ({ call, params: { guild_id: guild, id } }) => actions.retry(call, guild, id),
    }),
    get("/guilds/{guild_id}/held-actions", "getHeldActions", {
      summary: "See what waits for a confirmation",
      description: "A server acts on, or files proposals about, `ACTION_BREAKER` listed people an hour by itself. What is more waits here.",
      access: { permission: listsPolicy.read },
      request: { params },
      success: { status: 200, shape: "single", schema: HeldActionsView, description: "What waits", example: heldExample },
      refusals: ["record_not_found"],
      handle: ({ call, params: { guild_id: id } }) => breaker.held(call, id),
    }),
    post("/guilds/{guild_id}/held-actions/confirm", "confirmHeldActions", {
      summary: "Have everything done that waits",
      description: "The bot begins at once.",
      access: { permission: listsPolicy.confirm },
      request: { params },
      success: {
        status: 200,
        shape: "single",
        schema: HeldActionsView,
        description: "What waits now",
        example: { ...heldExample, state: "confirmed", waiting: 0, people: [] },
      },
      refusals: ["record_not_found", "invalid_transition", "conflict_of_interest", "hierarchy_violation"],
      handle: ({ call, params: { guild_id: id } }) => breaker.confirm(call, id),
    }),
    post("/guilds/{guild_id}/held-actions/undo", "undoHeldActions", {
      summary: "Take everything back that belongs together",
      description:
        "What waits is dropped, and what the bot has done with it, also after a confirmation within a day, is taken back. It is not done again for the same records; kicks cannot be undone.",
      access: { permission: listsPolicy.undo },
      request: { params },
      success: {
        status: 200,
        shape: "single",
        schema: HeldActionsView,
        description: "What waits now",
        example: { ...heldExample, state: "none", acted: 0, waiting: 0, since: null, people: [] },
      },
      refusals: ["record_not_found", "invalid_transition", "conflict_of_interest", "hierarchy_violation"],
      handle: ({ call, params: { guild_id: id } }) => breaker.undo(call, id),
    }),
  ];
}
