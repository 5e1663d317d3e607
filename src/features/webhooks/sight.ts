import type { Deps } from "../deps.ts";
import type { Webhook } from "../../generated/sqlite/client.ts";
import type { Actor, Call, CallClient } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { Told } from "../events/events.policy.ts";
import type { Viewer } from "../events/tail.ts";
import type { EventStreamsService } from "../events/streams.service.ts";
import type { KeyStore } from "../keys/store.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";

export interface SightDeps extends Deps<"clock"> {
  access: Pick<AccessDirectory, "actorOf">;
  keyStore: Pick<KeyStore, "find">;
  eventStreams: Pick<EventStreamsService, "viewerOf">;
}

/** Whether whoever a web-hook acts for may follow events now, and if not, for whose want; `unknown`: Discord has to be asked first. */
export type Standing = "welcome" | "unknown" | "key" | "person";

export type Sight = Awaited<ReturnType<ReturnType<typeof createSights>>>;

/** What web-hooks may tell: what whoever they act for could read with `GET /events` at that moment. A changed key needs another sight. */
export function createSights({ access, keyStore, eventStreams, clock }: SightDeps) {
  return async ({ keyId, userId }: Pick<Webhook, "keyId" | "userId">) => {
    const client = keyId === null ? null : await keyStore.find(keyId, clock.now(), userId !== null);
    const actor = userId === null ? null : await access.actorOf(userId);
    const viewer = client === undefined ? undefined : await viewerOf(client, actor);

    return {
      async standing(): Promise<Standing> {
        if (viewer === undefined || client === undefined) return "key";
        if (client?.expiresAt !== undefined && client.expiresAt <= clock.now()) return "key";
        if (userId !== null && client?.mayName?.() === false) return "key";
        if (await viewer.holds("staff.read")) return "welcome";
        if (userId !== null && (await access.actorOf(userId)).isUnknown()) return "unknown";
        return client?.allows("staff.read") === false ? "key" : "person";
      },
      /** Whether they may be told of an event. */
      async sees({ permission, names }: Pick<Told, "permission" | "names">): Promise<boolean> {
        return viewer !== undefined && (await viewer.holds(permission)) && (names.length === 0 || (await viewer.knows(names)));
      },
    };
  };

  /** @returns undefined once the key has ended */
  async function viewerOf(client: CallClient | null, actor: Actor | null): Promise<Viewer | undefined> {
    const call: Call = { client, actor, via: "job", requestId: uuid7(), idempotency: null, replayed: false };
    try {
      return await eventStreams.viewerOf(call);
    } catch (error) {
      if (error instanceof ProblemError && error.code === "credential_revoked") return undefined;
      throw error;
    }
  }
}
