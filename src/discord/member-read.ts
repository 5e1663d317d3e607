import { uuid7 } from "../kernel/ids.ts";
import type { GuildDispatch, MemberPayload } from "./guild-dispatches.ts";
import { memberPageSize, type MemberSource } from "./member-source.ts";

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
  /** Page by page over REST. @throws ProblemError when Discord cannot be asked */
  byPages(): Promise<void>;
  chunk(data: GuildDispatch<"GUILD_MEMBERS_CHUNK">): void;
  /** The gateway's part ends here. */
  refuse(): void;
  /** An event told the latest about this person: what the list says about them is older. */
  touched(userId: string): void;
  /** What was read so far proves nothing about who is absent. */
  lose(): void;
  isLost(): boolean;
  /** Stored members whom neither the list nor an event has shown. */
  unseen(): Iterable<string>;
}

export function createMemberRead({ guildId, discord, presentIds, accept, chunkTimeoutMs }: MemberReadOptions): MemberRead {
  const nonce = uuid7().replaceAll("-", "");
  const unseen = new Set(presentIds);
  const touched = new Set<string>();
  const chunks = new Set<number>();
  const lost = new AbortController();
  let silence: NodeJS.Timeout | undefined;
  let settle: (isComplete: boolean) => void = () => undefined;

  const take = (members: readonly MemberPayload[]): void => {
    for (const member of members) {
      unseen.delete(member.user.id);
      if (!touched.has(member.user.id)) accept(guildId, member);
    }
  };
  const listen = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => settle(false), chunkTimeoutMs);
  };

  return {
    guildId,
    byGateway() {
      const complete = new Promise<boolean>((resolve) => (settle = resolve));
      listen();
      discord.requestAll(guildId, nonce);
      return complete.finally(() => clearTimeout(silence));
    },
    async byPages() {
      if (lost.signal.aborted) return;
      let after = "0";
      for (;;) {
        const page = await discord.page(guildId, after);
        if (lost.signal.aborted) return;
        take(page);
        const last = page.at(-1);
        if (last === undefined || page.length < memberPageSize) return;
        after = last.user.id;
      }
    },
    chunk(data) {
      if (data.guild_id !== guildId || (data.nonce ?? nonce) !== nonce) return;
      take(data.members);
      chunks.add(data.chunk_index);
      if (chunks.size >= data.chunk_count) settle(true);
      else listen();
    },
    refuse: () => settle(false),
    touched(userId) {
      touched.add(userId);
      unseen.delete(userId);
    },
    lose() {
      lost.abort();
      settle(false);
    },
    isLost: () => lost.signal.aborted,
    unseen: () => unseen,
  };
}
