import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { Webhook, WebhookDelivery } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { shownAddress, wholeAddress } from "../../kernel/addresses.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { fieldError, ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { listPage, type Page } from "../../kernel/page.ts";
import { sealedIn } from "../../kernel/secrets.ts";
import { OutgoingFailed, type Outgoing } from "../../outgoing.ts";
import type { EventStreamsService } from "../events/streams.service.ts";
import { type Attempt, type Attempted, createSecret, eventMessage, testMessage } from "./attempt.ts";
import type { WebhookRecords } from "./records.ts";
import type { Runner } from "./runner.ts";
import { afresh } from "./schedule.ts";
import type { Sight } from "./sight.ts";
import { most, presentDelivery, presentWebhook, webhooksPolicy } from "./webhooks.policy.ts";
import {
  CreateWebhookInput,
  ListDeliveriesQuery,
  ListWebhooksQuery,
  UpdateWebhookInput,
  type DeliveryView,
  type WebhookView,
  type WebhookWithSecretView,
} from "./webhooks.schema.ts";

export interface WebhooksDeps extends Deps<"database" | "cursors" | "clock" | "keyring"> {
  records: WebhookRecords;
  runner: Pick<Runner, "flush">;
  eventStreams: Pick<EventStreamsService, "requireTypes" | "eventOf">;
  outgoing: Pick<Outgoing, "requireAskable">;
  sightOf: (webhook: Webhook) => Promise<Sight>;
  attemptsAt: Attempt;
}

export interface WebhooksService {
  /** Have an address told of events from now on. The secret is in this answer alone. @throws ProblemError validation_failed, invalid_transition */
  create(call: Call, input: CreateWebhookInput): Promise<WebhookWithSecretView>;
  /** @throws ProblemError record_not_found */
  get(call: Call, id: string): Promise<WebhookView>;
  /** Web-hooks, oldest first. */
  list(call: Call, given: ListWebhooksQuery): Promise<Page<WebhookView>>;
  /**
   * Change, pause or enable a web-hook. Whoever changes its address or types, or enables it, is whom it acts for from then on: nobody
   * gets to see what another may.
   * @throws ProblemError record_not_found, precondition_failed, validation_failed
   */
  update(call: Call, id: string, input: UpdateWebhookInput, ifMatch?: number): Promise<WebhookView>;
  /** Tell an address nothing more, and forget what was sent. @throws ProblemError record_not_found, precondition_failed */
  delete(call: Call, id: string, ifMatch?: number): Promise<WebhookView>;
  /** Give a web-hook a new secret. The one before signs, too, for a day. @throws ProblemError record_not_found, precondition_failed */
  rotate(call: Call, id: string, ifMatch?: number): Promise<WebhookWithSecretView>;
  /** Send a `webhook.test` now, whatever its state. How it went stands in the answer. @throws ProblemError record_not_found */
  test(call: Call, id: string): Promise<DeliveryView>;
  /** Attempts, the newest first. @throws ProblemError record_not_found */
  deliveries(call: Call, id: string, given: ListDeliveriesQuery): Promise<Page<DeliveryView>>;
  /**
   * Send the event of a delivery again, out of its order, if it is still kept and may still be seen.
   * @throws ProblemError record_not_found, invalid_transition
   */
  redeliver(call: Call, id: string, deliveryId: string): Promise<DeliveryView>;
}

/** How long the secret before signs, too. */
const formerSeconds = 86_400;

/** Web-hooks: who is told of events, and how that goes. */
export function createWebhooksService(deps: WebhooksDeps): WebhooksService {
  const { database, cursors, clock, keyring, records, runner, eventStreams, outgoing, sightOf, attemptsAt } = deps;

  async function find(id: string): Promise<Webhook> {
    const row = await database.read.webhook.findUnique({ where: { id } });
    if (row === null) throw recordNotFound();
    return row;
  }

  /** @throws ProblemError validation_failed */
  async function requireFree(tx: Tx, name: string): Promise<void> {
    await tx.lock("webhook_names");
    if ((await tx.db.webhook.count({ where: { name } })) > 0)
      throw fieldError("/name", "conflict", say("webhooks.another-web-hook-is-called-that"));
  }

  /** @throws ProblemError invalid_transition */
  async function requireRoom(tx: Tx, { keyId, userId }: Pick<Webhook, "keyId" | "userId">): Promise<void> {
    const refuse = (detail: string) => new ProblemError("invalid_transition", { detail });
    if ((await tx.db.webhook.count()) >= most.all) throw refuse(say("webhooks.there-are-web-hooks-already-delete-one", { all: most.all }));
    if ((await tx.db.webhook.count({ where: keyId === null ? { keyId, userId } : { keyId } })) >= most.each)
      throw refuse(say("webhooks.this-key-or-person-has-web-hooks", { each: most.each }));
  }

  /** @throws ProblemError validation_failed */
  function requireAskable(url: string): void {
    try {
      outgoing.requireAskable(url);
    } catch (error) {
      throw error instanceof OutgoingFailed ? fieldError("/url", "refused", error.message) : error;
    }
  }

  /** A secret that is shown once, and what is stored of it. */
  function freshSecret(id: string) {
    const secret = createSecret();
    return {
      sealed: keyring.encrypt(secret, sealedIn.webhookSecret(id)),
      showIn(call: Call, view: WebhookView): WebhookWithSecretView {
        if (call.replayed) throw new ProblemError("idempotency_key_reused", { detail: say("webhooks.the-secret-was-shown-in-the-first") });
        return { ...view, secret };
      },
    };
  }

  /** Note an attempt that somebody asked for. */
  async function store(call: Call, verb: "test" | "redeliver", webhook: Webhook, { row }: Attempted): Promise<DeliveryView> {
    return await database.write(call, async (tx) => {
      await records.open(tx, webhook.id);
      await tx.db.webhookDelivery.create({ data: row });
      records.note(tx, verb, webhook, { after: { event_id: row.eventId, type: row.type, status: row.status } });
      return presentDelivery(row);
    });
  }

  return {
    async create(call: Call, input: CreateWebhookInput): Promise<WebhookWithSecretView> {
      requireWrite(call, webhooksPolicy.manage);
      const { name, url, types } = CreateWebhookInput.parse(input);
      eventStreams.requireTypes(call, types);
      requireAskable(wholeAddress("/url", url));
      const id = uuid7(clock.now().getTime());
      const secret = freshSecret(id);
      const made = await database.write(call, async (tx) => {
        await requireFree(tx, name);
        const holder = holderOf(call);
        await requireRoom(tx, holder);
        const { _max: newest } = await tx.db.outboxEvent.aggregate({ _max: { seq: true } });
        const settings = { name, url, types, secret: secret.sealed, formerSecret: null, formerUntil: null, ...holder };
        const standing = { state: "active", problem: null, position: newest.seq ?? 0, ...afresh };
        const row = await tx.db.webhook.create({
          data: { id, ...settings, ...standing, createdAt: tx.now, updatedAt: tx.now, revision: 1 },
        });
        records.note(tx, "create", row, { after: toldOf(row) });
        records.tell(tx, row);
        return presentWebhook(row);
      });
      return secret.showIn(call, made);
    },

    async get(call: Call, id: string): Promise<WebhookView> {
      requirePermission(call, webhooksPolicy.manage);
      return presentWebhook(await find(id));
    },

    async list(call: Call, given: ListWebhooksQuery): Promise<Page<WebhookView>> {
      requirePermission(call, webhooksPolicy.manage);
      const query = ListWebhooksQuery.parse(given);
      return await listPage({
        cursors,
        list: "webhooks",
        filters: {},
        query,
        keyset: { of: ({ id }: Webhook) => [id, id], after: ([, id]) => ({ id: { gt: id } }) },
        find: ({ after, take }) => database.read.webhook.findMany({ where: after, orderBy: { id: "asc" }, take }),
        count: () => database.read.webhook.count(),
        present: presentWebhook,
      });
    },

    async update(call: Call, id: string, input: UpdateWebhookInput, ifMatch?: number): Promise<WebhookView> {
      requireWrite(call, webhooksPolicy.manage);
      const wanted = UpdateWebhookInput.parse(input);
      if (wanted.types !== undefined) eventStreams.requireTypes(call, wanted.types);
      if (wanted.url !== undefined) requireAskable(wanted.url);
      await runner.flush();
      return await database.write(call, async (tx) => {
        const row = await records.open(tx, id, ifMatch);
        if (wanted.name !== undefined && wanted.name !== row.name) await requireFree(tx, wanted.name);
        const changes = {
          name: wanted.name ?? row.name,
          url: wanted.url === undefined ? row.url : wholeAddress("/url", wanted.url, row.url),
          types: wanted.types ?? (row.types as string[]),
          state: wanted.state ?? row.state,
        };
        const { name, url, types, state } = row;
        if (isSame({ name, url, types, state }, changes)) {
          records.tell(tx, row);
          return presentWebhook(row);
        }
        const isLed =
          changes.url !== row.url || !isSame(changes.types, row.types) || (changes.state === "active" && row.state !== "active");
        if (isLed) eventStreams.requireTypes(tx.call, changes.types);
        const changed = await tx.db.webhook.update({
          where: { id },
          data: {
            ...changes,
            ...(isLed && { ...holderOf(tx.call), ...afresh, problem: null }),
            updatedAt: tx.now,
            revision: { increment: 1 },
          },
        });
        // Two addresses may look the same where they are shortened.
        const after = { ...toldOf(changed), ...(changed.url !== url && { url_changed: true }) };
        records.note(tx, "update", changed, { before: toldOf(row), after });
        records.tell(tx, changed);
        return presentWebhook(changed);
      });
    },

    async delete(call: Call, id: string, ifMatch?: number): Promise<WebhookView> {
      requireWrite(call, webhooksPolicy.manage);
      return await database.write(call, async (tx) => {
        const row = await records.open(tx, id, ifMatch);
        await tx.db.webhook.delete({ where: { id } });
        records.note(tx, "delete", row, { before: toldOf(row) });
        records.tell(tx, row, true);
        return presentWebhook(row);
      });
    },

    async rotate(call: Call, id: string, ifMatch?: number): Promise<WebhookWithSecretView> {
      requireWrite(call, webhooksPolicy.manage);
      const secret = freshSecret(id);
      const rotated = await database.write(call, async (tx) => {
        const row = await records.open(tx, id, ifMatch);
        const former = keyring.encrypt(keyring.decrypt(row.secret, sealedIn.webhookSecret(id)), sealedIn.formerWebhookSecret(id));
        const formerUntil = addSeconds(tx.now, formerSeconds);
        const data = { secret: secret.sealed, formerSecret: former, formerUntil, updatedAt: tx.now };
        const changed = await tx.db.webhook.update({ where: { id }, data: { ...data, revision: { increment: 1 } } });
        records.note(tx, "rotate", changed, { after: { former_secret_until: formerUntil.toISOString() } });
        records.tell(tx, changed);
        return presentWebhook(changed);
      });
      return secret.showIn(call, rotated);
    },

    async test(call: Call, id: string): Promise<DeliveryView> {
      requireWrite(call, webhooksPolicy.manage);
      const replay = await database.findReplay(call);
      if (replay !== undefined) return replay.value as DeliveryView;
      const webhook = await find(id);
      const attempted = await attemptsAt(webhook)("test", testMessage(id, clock.now()), 1);
      return await store(call, "test", webhook, attempted);
    },

    async deliveries(call: Call, id: string, given: ListDeliveriesQuery): Promise<Page<DeliveryView>> {
      requirePermission(call, webhooksPolicy.manage);
      const query = ListDeliveriesQuery.parse(given);
      await find(id);
      await runner.flush();
      return await listPage({
        cursors,
        list: "webhook_deliveries",
        filters: { id },
        query,
        keyset: { of: ({ id }: WebhookDelivery) => [id, id], after: ([, id]) => ({ id: { lt: id } }) },
        find: ({ after, take }) =>
          database.read.webhookDelivery.findMany({ where: { AND: [{ webhookId: id }, after] }, orderBy: { id: "desc" }, take }),
        count: () => database.read.webhookDelivery.count({ where: { webhookId: id } }),
        present: presentDelivery,
      });
    },

    async redeliver(call: Call, id: string, deliveryId: string): Promise<DeliveryView> {
      requireWrite(call, webhooksPolicy.manage);
      const replay = await database.findReplay(call);
      if (replay !== undefined) return replay.value as DeliveryView;
      const webhook = await find(id);
      await runner.flush();
      const delivery = await database.read.webhookDelivery.findFirst({ where: { id: deliveryId, webhookId: id } });
      if (delivery === null) throw recordNotFound();
      const event = await eventStreams.eventOf(delivery.eventId);
      const refuse = (detail: string) => new ProblemError("invalid_transition", { detail });
      if (event === undefined) throw refuse(say("webhooks.the-event-is-no-longer-kept-events"));
      const sight = await sightOf(webhook);
      if ((await sight.standing()) !== "welcome" || !(await sight.sees(event)))
        throw refuse(say("webhooks.whoever-the-web-hook-acts-for-may"));
      return await store(call, "redeliver", webhook, await attemptsAt(webhook)("redelivery", eventMessage(event), 1));
    },
  };
}

/** Whose sight a web-hook has that this call makes or changes. */
const holderOf = ({ client, actor }: Call) => ({ keyId: client?.id ?? null, userId: actor?.id ?? null });

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** What the audit says of a web-hook: never its secret, nor what may be one in its address. Whom it acts for is who the entry says has made, led or enabled it. */
function toldOf({ name, url, types, state }: Pick<Webhook, "name" | "url" | "types" | "state">) {
  return { name, url: shownAddress(url), types: types as string[], state };
}
