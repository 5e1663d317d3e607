import { setImmediate as nextTurn } from "node:timers/promises";
import type { DiscordCalls } from "../../kernel/discord-port.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { type MembersChunk, member as memberSchema, type MemberPayload } from "./payloads.ts";
import { Routes } from "discord-api-types/v10";
import { z } from "zod";
import { refusalStatus } from "../rest/errors.ts";

/** How the guild state reads members from Discord. Every call may fail while Discord cannot be reached. */
export interface MemberSource {
  /** Null if the person is not a member. `lookup` gives up quickly, `sync` waits for rate limits. */
  member(guildId: string, userId: string, purpose: "lookup" | "sync"): Promise<MemberPayload | null>;
  /** Up to 1,000 members with ids above `after`, in order of id. */
  page(guildId: string, after: string): Promise<readonly MemberPayload[]>;
  /** Request the whole member list from the gateway; the answer arrives as chunks with this nonce. */
  requestAll(guildId: string, nonce: string): void;
}

/** Discord's maximum. */
const memberPageSize = 1000;

/** A whole page at once would keep everybody else waiting. */
async function* partsOf<Of>(page: readonly Of[]): AsyncGenerator<readonly Of[]> {
  const size = 200;
  for (let from = 0; from < page.length; from += size) {
    if (from > 0) await nextTurn();
    yield page.slice(from, from + size);
  }
}

/** @param lookUpMs time for one look-up */
export function createMemberSource(rest: DiscordCalls, requestAll: MemberSource["requestAll"], lookUpMs = 2500): MemberSource {
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
      const found = z
        .array(z.unknown())
        .parse(await rest.call<unknown>({ method: "GET", route, query, purpose: "sync", deadlineMs: 60_000 }));
      const members: MemberPayload[] = [];
      for await (const part of partsOf(found)) members.push(...z.array(memberSchema).parse(part));
      return members;
    },
    requestAll,
  };
}

interface MemberReadOptions {
  guildId: string;
  discord: MemberSource;
  /** Stored members believed present. */
  presentIds: Iterable<string>;
  accept(guildId: string, member: MemberPayload): void;
  /** Longest silence between two chunks. */
  chunkTimeoutMs: number;
}

/** One reading of a guild's whole member list. */
export interface MemberRead {
  guildId: string;
  /** Over the gateway; false when it did not send every chunk. */
  byGateway(): Promise<boolean>;
  /** Page by page over REST. @throws ProblemError if Discord cannot be reached */
  byPages(): Promise<void>;
  chunk(data: MembersChunk): void;
  /** The gateway refused the request. */
  refuse(): void;
  /** An event about this person arrived: the list is older. */
  touched(userId: string): void;
  /** Give up this read: it proves nothing about absence any more. */
  lose(): void;
  isLost(): boolean;
  /** Stored members who were neither in the list nor in an event. */
  unseen(): Iterable<string>;
}

/** A read that has not begun; `byGateway` and `byPages` carry it out. */
export function createMemberRead({ guildId, discord, presentIds, accept, chunkTimeoutMs }: MemberReadOptions): MemberRead {
  const nonce = uuid7().replaceAll("-", "");
  const unseen = new Set(presentIds);
  const touched = new Set<string>();
  const chunks = new Set<number>();
  const lost = new AbortController();
  let silence: NodeJS.Timeout | undefined;
  let finish: (isComplete: boolean) => void = () => undefined;

  const take = (members: readonly MemberPayload[]): void => {
    for (const member of members) {
      unseen.delete(member.user.id);
      if (!touched.has(member.user.id)) accept(guildId, member);
    }
  };
  const listen = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => finish(false), chunkTimeoutMs);
  };

  return {
    guildId,
    byGateway() {
      const complete = new Promise<boolean>((resolve) => (finish = resolve));
      listen();
      discord.requestAll(guildId, nonce);
      return complete.finally(() => clearTimeout(silence));
    },
    async byPages() {
      if (lost.signal.aborted) return;
      let after = "0";
      for (;;) {
        const page = await discord.page(guildId, after);
        for await (const part of partsOf(page)) {
          if (lost.signal.aborted) return;
          take(part);
        }
        const last = page.at(-1);
        if (last === undefined || page.length < memberPageSize) return;
        after = last.user.id;
      }
    },
    chunk(data) {
      if (data.guild_id !== guildId || (data.nonce ?? nonce) !== nonce) return;
      take(data.members);
      chunks.add(data.chunk_index);
      if (chunks.size >= data.chunk_count) finish(true);
      else listen();
    },
    refuse: () => finish(false),
    touched(userId) {
      touched.add(userId);
      unseen.delete(userId);
    },
    lose() {
      lost.abort();
      finish(false);
    },
    isLost: () => lost.signal.aborted,
    unseen: () => unseen,
  };
}
