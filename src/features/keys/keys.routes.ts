import { say } from "../../kit/say.ts";
import { z } from "zod";
import { routesFor, type Route } from "../../operations/route.ts";
import { keysPolicy } from "./keys.policy.ts";
import { CreateKeyInput, CreatedKeyView, KeyView, KeysListQuery, RotateKeyInput, UpdateKeyInput } from "./keys.schema.ts";
import type { KeysService } from "./keys.service.ts";

const { del, get, patch, post } = routesFor("keys");
const path = "/keys/{id}";
const params = z.object({
  id: z
    .string()
    .regex(/^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-Za-z]{12})$/, say("keys.name-the-key-by-the-id-of"))
    .meta({ description: "Id of the record, or the public key id", example: "0HjVw3tqZB9m" }),
});
const example = {
  id: "0199e6a0-7c4e-7a35-9f0c-3a0a4d6f2b11",
  key_id: "0HjVw3tqZB9m",
  name: "community site",
  state: "active",
  warning: null,
  makers: ["80351110224678912"],
  scopes: ["staff.*", "blacklist.check"],
  delegation: "trusted",
  public_key: null,
  ip_allowlist: ["203.0.113.0/24"],
  created_by: "80351110224678912",
  created_at: "2026-11-20T10:00:00.000Z",
  expires_at: "2027-11-20T10:00:00.000Z",
  last_used_at: null,
  rotated_from: null,
  revoked_at: null,
  revision: 1,
} as const satisfies KeyView;
const exampleWithKey = { ...example, key: "prv_live_0HjVw3tqZB9m_…" };
const single = { status: 200, shape: "single", schema: KeyView, example } as const;
const made = { status: 201, shape: "single", schema: CreatedKeyView, example: exampleWithKey } as const;

export function keysRoutes(keys: KeysService): Route[] {
  return [...collectionRoutes(keys), ...recordRoutes(keys), rotateRoute(keys)];
}

function collectionRoutes(keys: KeysService): Route[] {
  return [
    post("/keys", "createKey", {
      summary: "Make an API key",
      description: "The secret is in this answer and in no other. Nobody gives a key what they do not hold until its end.",
      access: { permission: keysPolicy.create },
      confirmable: true,
      request: {
        body: CreateKeyInput,
        example: { name: "community site", scopes: ["staff.*", "blacklist.check"], delegation: "trusted" },
      },
      success: { ...made, description: "The key with its secret" },
      refusals: ["cannot_grant_unheld"],
      handle: ({ call, body }) => keys.create(call, body),
    }),
    get("/keys", "listKeys", {
      summary: "List API keys, oldest first",
      access: { permission: keysPolicy.read },
      request: { query: KeysListQuery },
      success: { status: 200, shape: "list", schema: KeyView, description: "A page of keys", example },
      handle: ({ call, query }) => keys.list(call, query),
    }),
  ];
}

function recordRoutes(keys: KeysService): Route[] {
  return [
    get(path, "getKey", {
      summary: "Read one API key",
      access: { permission: keysPolicy.read },
      request: { params },
      success: { ...single, description: "The key" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id } }) => keys.get(call, id),
    }),
    patch(path, "updateKey", {
      summary: "Change an API key",
      description:
        "Fields that are not sent stay. What only renames or narrows a key needs nothing more; anything else needs a caller who holds all that the key has afterwards. A key that has ended stays as it is.",
      access: { permission: keysPolicy.update },
      confirmable: true,
      request: { params, body: UpdateKeyInput, example: { name: "community site", ip_allowlist: ["203.0.113.0/24"] } },
      success: { ...single, description: "The key as it stands now" },
      refusals: ["record_not_found", "invalid_transition", "cannot_grant_unheld"],
      handle: ({ call, params: { id }, body, ifMatch }) => keys.update(call, id, body, ifMatch),
    }),
    del(path, "revokeKey", {
      summary: "Revoke an API key",
      description: "It ends at once, here and in every other process within seconds. A key may revoke itself.",
      access: { permission: keysPolicy.revoke },
      confirmable: true,
      request: { params },
      success: { ...single, description: "The revoked key" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id }, ifMatch }) => keys.revoke(call, id, ifMatch),
    }),
  ];
}

function rotateRoute(keys: KeysService): Route {
  return post(`${path}/rotate`, "rotateKey", {
    summary: "Give an API key a new secret",
    description:
      "Makes a key with the same settings; the old one goes on working for `grace_seconds`. The secret is in this answer and in no other. An acting user gets all that the key holds, so they have to hold it themselves until its end. Without an acting user, a key may rotate itself as long as that does not prolong it.",
    access: { permission: keysPolicy.rotate, itself: "id" },
    confirmable: true,
    request: { params, body: RotateKeyInput, bodyOptional: true, example: { grace_seconds: 86_400 } },
    success: { ...made, description: "The new key with its secret", example: { ...exampleWithKey, rotated_from: example.id } },
    refusals: ["record_not_found", "precondition_failed", "invalid_transition", "cannot_grant_unheld"],
    handle: ({ call, params: { id }, body, ifMatch }) => keys.rotate(call, id, body, ifMatch),
  });
}
