import { Routes } from "discord-api-types/v10";
import { member as memberSchema, type MemberPayload } from "./guild-dispatches.ts";
import { z } from "zod";
import { refusalStatus } from "./rest-errors.ts";
import type { DiscordRest } from "./rest.ts";

/** What the guild state asks of Discord. Every call may fail while Discord cannot be reached. */
export interface MemberSource {
  /** Null when Discord says that the person is not a member. `lookup` gives up quickly, `sync` waits for rate limits. */
  member(guildId: string, userId: string, purpose: "lookup" | "sync"): Promise<MemberPayload | null>;
  /** Up to 1,000 members with ids above `after`, in order of id. */
  page(guildId: string, after: string): Promise<readonly MemberPayload[]>;
  /** Ask the gateway for the whole member list; the answer arrives as chunks with this nonce. */
  requestAll(guildId: string, nonce: string): void;
}

/** The longest page Discord gives. */
export const memberPageSize = 1000;

/** @param lookUpMs time for one look-up */
export function createMemberSource(rest: Pick<DiscordRest, "call">, requestAll: MemberSource["requestAll"], lookUpMs = 2500): MemberSource {
  return {
    async member(guildId, userId, purpose) {
      const request = { method: "GET", route: Routes.guildMember(guildId, userId), purpose } as const;
      try {
        return memberSchema.parse(await rest.call<unknown>({ ...request, deadlineMs: purpose === "lookup" ? lookUpMs : 30_000 }));
      } catch (error) {
        if (refusalStatus(error) === 404) return null;
        throw error;
      }
    },
    async page(guildId, after) {
      const query = new URLSearchParams({ limit: memberPageSize.toString(), after });
      const route = Routes.guildMembers(guildId);
      return z.array(memberSchema).parse(await rest.call<unknown>({ method: "GET", route, query, purpose: "sync", deadlineMs: 60_000 }));
    },
    requestAll,
  };
}
