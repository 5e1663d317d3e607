import { z } from "zod";
import { Snowflake } from "../../../kernel/fields.ts";
import { routesFor, type Route } from "../../../operations/route.ts";
import {
  DirectView,
  ModerateInput,
  ModerationAnswer,
  PutDirectInput,
  PutReasonsInput,
  ReasonsView,
  UndoAnswer,
  UndoInput,
} from "./direct.schema.ts";
import type { DirectService } from "./direct.service.ts";
import { LookAnswer } from "./looking.schema.ts";
import { GetParams } from "../requests/workflows.routes.ts";
import { directPolicy } from "./direct.policy.ts";

const { get, post, put } = routesFor("workflows");
const params = z.object({ guild_id: Snowflake });
const managing = { permission: directPolicy.manage } as const;

/** HTTP routes for moderation in one step. */
export function directRoutes(direct: DirectService): Route[] {
  return [
    post("/guilds/{guild_id}/moderation", "moderate", {
      summary: "Warn, note, time out, kick or ban somebody, or lift it",
      description:
        "One punishment request, filed and decided in one step where the rules of the server let the acting person decide alone (`direct`). Otherwise it waits: `waits` says why, `deciders` whom to ask. What Discord would refuse, such as a ban of somebody whose role is above the bot's, is refused before anything is recorded: `detail` says what would help, `discord.code` which rule it is. A ban of several people (`user_ids`) takes somebody who decides it alone, and is refused whole where one of them may not be banned; `left` has those whom it did not come to, should something go wrong on the way.",
      access: { permission: directPolicy.read },
      request: {
        params,
        body: ModerateInput,
        example: { action: "ban", user_id: "80351110224678912", reason: "Raided #general with three accounts.", duration: "P7D" },
      },
      success: {
        status: 201,
        shape: "flat",
        schema: ModerationAnswer,
        description: "It is done, or filed",
        example: {
          success: true,
          id: "0199f3a0-0000-7000-8000-000000000000",
          reference: "PUN-REQ-000001",
          status: "approved",
          direct: true,
          waits: null,
          deciders: [],
          approvals: { have: 1, required: 1 },
          undo_until: null,
          warnings: [],
          effects: [],
          requests: [{ user_id: "80351110224678912", id: "0199f3a0-0000-7000-8000-000000000000", reference: "PUN-REQ-000001" }],
          left: null,
        },
      },
      refusals: [
        "record_not_found",
        "duplicate_open",
        "conflict_of_interest",
        "hierarchy_violation",
        "discord_would_refuse",
        "invalid_transition",
      ],
      handle: ({ call, params: { guild_id: guildId }, body }) => direct.moderate(call, guildId, body),
    }),
    post("/workflows/{type}/{id}/undo", "undoModeration", {
      summary: "Take back one's own warning, note or timeout",
      description:
        "For 15 minutes after a direct decision, the person who made it reverses it alone, as long as the rules of the server still let them make it. Everything that it did is undone, as by `reverse`. Where it is not theirs to take back, nothing changes: `refused` says why, `deciders` who may reverse it.",
      access: { permission: directPolicy.read },
      request: { params: GetParams, body: UndoInput, example: { reason: "Meant for somebody of a similar name." } },
      success: {
        status: 200,
        shape: "flat",
        schema: UndoAnswer,
        description: "It is taken back, or why not",
        example: {
          success: true,
          id: "0199f3a0-0000-7000-8000-000000000000",
          reference: "PUN-REQ-000001",
          status: "reversed",
          undone: true,
          refused: null,
          deciders: [],
          effects: [],
        },
      },
      refusals: ["record_not_found", "conflict_of_interest", "hierarchy_violation", "invalid_transition"],
      handle: ({ call, params: { type, id }, body }) => direct.undo(call, type, id, body),
    }),
    post("/workflows/{type}/{id}/look", "lookAtWorkflow", {
      summary: "Note that somebody else has looked at a direct decision",
      description:
        "What one person decided alone stands in `GET /workflows?review_later=true` for seven days, or until somebody else has looked at it or taken it back. Nobody looks at their own.",
      access: { permission: directPolicy.look },
      request: { params: GetParams },
      success: {
        status: 200,
        shape: "flat",
        schema: LookAnswer,
        description: "It is noted",
        example: {
          success: true,
          id: "0199f3a0-0000-7000-8000-000000000000",
          reference: "PUN-REQ-000001",
          looked_at: "2026-11-20T10:00:00.000Z",
          looked_by: "80351110224678912",
        },
      },
      refusals: ["record_not_found", "conflict_of_interest", "invalid_transition"],
      handle: ({ call, params: { type, id } }) => direct.lookedAt(call, type, id),
    }),
    get("/guilds/{guild_id}/direct", "getDirectModeration", {
      summary: "Read what each level does alone in a server",
      access: { permission: directPolicy.read },
      request: { params },
      success: { status: 200, shape: "single", schema: DirectView, description: "The rules" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { guild_id: guildId } }) => direct.getDirect(call, guildId),
    }),
    put("/guilds/{guild_id}/direct", "putDirectModeration", {
      summary: "Choose what each level does alone in a server",
      description:
        "Send all rules: what is left out or `null` is off, and waits for a decision of others. Needs `workflows.punishment.decide` besides.",
      access: { ...managing, also: directPolicy.decide },
      request: {
        params,
        body: PutDirectInput,
        example: { warning: { level: "moderator" }, timeout: { level: "moderator", max: "P7D" }, ban: { level: "admin" } },
      },
      success: { status: 200, shape: "single", schema: DirectView, description: "The rules as they are now" },
      refusals: ["record_not_found", "precondition_failed"],
      handle: ({ call, params: { guild_id: guildId }, body, ifMatch }) => direct.putDirect(call, guildId, body, ifMatch),
    }),
    get("/guilds/{guild_id}/reasons", "getReasonTemplates", {
      summary: "Read the reason templates of a server",
      access: { permission: directPolicy.read },
      request: { params },
      success: { status: 200, shape: "single", schema: ReasonsView, description: "The templates" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { guild_id: guildId } }) => direct.getReasons(call, guildId),
    }),
    put("/guilds/{guild_id}/reasons", "putReasonTemplates", {
      summary: "Replace the reason templates of a server",
      description: "`reason` of a moderation action may be the name of a template; it stands for its text.",
      access: managing,
      request: {
        params,
        body: PutReasonsInput,
        example: { reasons: [{ name: "spam", text: "Advertising in several channels after being asked to stop." }] },
      },
      success: { status: 200, shape: "single", schema: ReasonsView, description: "The templates as they are now" },
      refusals: ["record_not_found", "precondition_failed"],
      handle: ({ call, params: { guild_id: guildId }, body, ifMatch }) => direct.putReasons(call, guildId, body, ifMatch),
    }),
  ];
}
