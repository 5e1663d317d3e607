import { GatewayDispatchEvents as Dispatch, GatewayIntentBits as Intent } from "discord-api-types/v10";
import { z } from "zod";
import type { Deps } from "../deps.ts";
import { listener, type GatewayListener } from "../../discord/gateway/listeners.ts";
import { systemCall } from "../../kernel/call.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { lockPerson, type Ledger } from "./ledger.ts";

const BanEvent = z.object({ guild_id: Snowflake, user: z.object({ id: Snowflake }) });

/** What people do by hand ends what was done here: a ban that somebody has lifted is not made again for the same record. */
export function createHandListeners({ database, ledger }: Deps<"database"> & { ledger: Ledger }): GatewayListener[] {
  return [
    listener({
      dispatch: Dispatch.GuildBanRemove,
      intents: [Intent.GuildModeration],
      schema: BanEvent,
      async handle({ guild_id: guildId, user: { id: userId } }) {
        // What the bot lifts by itself is on its way to be undone.
        const where = { guildId, userId, action: "ban", stance: "apply", state: "done", changed: true };
        if ((await database.read.listAction.findFirst({ where, select: { id: true } })) === null) return;
        await database.write(systemCall("job", uuid7()), async (tx) => {
          await lockPerson(tx, userId);
          for (const row of await tx.db.listAction.findMany({ where }))
            await ledger.change(tx, row, { state: "settled", dueAt: null }, { why: "The ban was lifted by hand." });
        });
      },
    }),
  ];
}
