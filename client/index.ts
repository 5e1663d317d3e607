import createClient, { type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";
import type { HttpMethod, MediaType, PathsWithMethod, RequiredKeysOf } from "openapi-typescript-helpers";
import type { components, paths } from "../src/generated/api.ts";
import { signAssertion, type PrivateKey } from "./assertion.ts";
import { followEvents, usualPace, type EventGap, type FollowOptions, type ServiceEvent } from "./events.ts";
import { ProvostError } from "./problem.ts";
import { createSend, type Fetch, type Retries, type Sign } from "./send.ts";

export { signAssertion, type Asked, type AssertionOptions, type PrivateKey } from "./assertion.ts";
export type { EventGap, FollowOptions, ServiceEvent } from "./events.ts";
export { ProvostError, type FieldError, type ProblemCode } from "./problem.ts";
export { verifyWebhook, type WebhookMessage } from "./webhook.ts";
export type { components, paths };

/** A record or another part of the document by its name, such as `Schema<"Workflow">`. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

export interface ClientOptions {
  /** Where the service is, such as `https://moderation.example.org`. */
  baseUrl: string;
  /** The API key: `prv_live_…`. */
  key: string;
  /** The Discord id of the staff member for whom is asked; {@link ProvostClient.as} names another one. */
  actingUser?: string;
  /** For a key whose delegation is `signed`: each request carries an assertion, signed with it, that the acting user asks. */
  privateKey?: PrivateKey;
  /** How often a call is repeated, and how long it waits for that; by default five times, and a minute. */
  retries?: Partial<Retries>;
  /** Sends each request in place of the global `fetch`, such as by a proxy. */
  fetch?: Fetch;
}

/** What a call was answered; a refusal is thrown. There is no `data` where `response.status` is 304, as `If-None-Match` was sent. */
export interface Answer<Body> {
  data: Body;
  response: Response;
}

type ParseAs = "json" | "text" | "blob" | "arrayBuffer" | "stream";
type Init<Path extends keyof paths, Method extends HttpMethod> = NonNullable<MaybeOptionalInit<paths[Path], Method & keyof paths[Path]>>;
type Given<One> = RequiredKeysOf<One> extends never ? [init?: One] : [init: One];
type BodyOf<Operation, As extends ParseAs = "json"> =
  Operation extends Record<string | number, unknown> ? NonNullable<FetchResponse<Operation, { parseAs: As }, MediaType>["data"]> : never;

/** A call of the document: path, then `params`, `body` and `headers` as openapi-fetch takes them. @throws ProvostError */
type Call<Method extends HttpMethod> = <Path extends PathsWithMethod<paths, Method>, As extends ParseAs = "json">(
  path: Path,
  ...init: Given<Init<Path, Method> & { parseAs?: As }>
) => Promise<Answer<BodyOf<paths[Path][Method], As>>>;

type ListPath = {
  [Path in PathsWithMethod<paths, "get">]: BodyOf<paths[Path]["get"]> extends { page: unknown; data: unknown[] } ? Path : never;
}[PathsWithMethod<paths, "get">];
type ItemOf<Path extends ListPath> = BodyOf<paths[Path]["get"]> extends { data: (infer Item)[] } ? Item : never;

export interface ProvostClient {
  GET: Call<"get">;
  POST: Call<"post">;
  PUT: Call<"put">;
  PATCH: Call<"patch">;
  DELETE: Call<"delete">;
  /** Every entry of a list, page after page. @throws ProvostError */
  paginate<Path extends ListPath>(path: Path, ...init: Given<Init<Path, "get">>): AsyncGenerator<ItemOf<Path>, void>;
  /** What happens, over every loss of the connection, without a gap or a repetition. @throws ProvostError where to ask again is of no use */
  events(options?: FollowOptions): AsyncGenerator<ServiceEvent | EventGap, void>;
  /** The same client, for another staff member. */
  as(actingUser: string): ProvostClient;
}

/** @returns a client for one service and one key; it repeats what may be repeated, and throws {@link ProvostError} for every refusal */
export function createProvostClient(options: ClientOptions): ProvostClient {
  // Looked up at each request, as programs may replace it.
  const given: Fetch = options.fetch ?? ((url, init) => fetch(url, init));
  const retries = { attempts: 5, maxWaitSeconds: 60, ...options.retries };
  const send = createSend({ sign: createSign(options, given), retries, fetch: given });
  const calls = createClient<paths>({
    baseUrl: options.baseUrl,
    fetch: async (request) => {
      const response = await send(request);
      if (!response.ok && response.status !== 304) throw new ProvostError(response, await response.text());
      return response;
    },
  });
  type Page = { data: never[]; page: { next_cursor: string | null } };

  const client: ProvostClient = {
    GET: calls.GET as unknown as Call<"get">,
    POST: calls.POST as unknown as Call<"post">,
    PUT: calls.PUT as unknown as Call<"put">,
    PATCH: calls.PATCH as unknown as Call<"patch">,
    DELETE: calls.DELETE as unknown as Call<"delete">,
    async *paginate(path, ...[init]) {
      const asked: { params?: { query?: object } } | undefined = init;
      for (let cursor: string | null | undefined; cursor !== null;) {
        const query = { ...asked?.params?.query, ...(cursor !== undefined && { cursor }) };
        const { data } = await (calls.GET as (path: string, init: object) => Promise<{ data: Page }>)(path, {
          ...asked,
          params: { ...asked?.params, query },
        });
        yield* data.data;
        cursor = data.page.next_cursor;
      }
    },
    events: (followed = {}) =>
      followEvents(
        async ({ types, lastEventId, signal }) => {
          const params = {
            ...(types !== undefined && { query: { types } }),
            ...(lastEventId !== undefined && { header: { "Last-Event-ID": lastEventId } }),
          };
          const { data } = await client.GET("/events", { params, parseAs: "stream", signal });
          return data as ReadableStream<Uint8Array>;
        },
        followed,
        usualPace,
      ),
    as: (actingUser) => createProvostClient({ ...options, actingUser }),
  };
  return client;
}

/** Who asks: the key, and the acting user by name or by an assertion of its own for each request. */
function createSign({ baseUrl, key, actingUser, privateKey }: ClientOptions, fetch: Fetch): Sign {
  const authorization = `Bearer ${key}`;
  if (actingUser === undefined) return () => Promise.resolve({ authorization });
  if (privateKey === undefined) return () => Promise.resolve({ authorization, "x-acting-user": actingUser });
  let audience: string | undefined;
  // Behind a prefix of a proxy the service sees its own paths alone.
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, "");
  return async ({ method, url, body }) => {
    audience ??= await installationOf(baseUrl, fetch);
    const asked = { method, path: url.pathname.slice(prefix.length), query: url.search.slice(1), ...(body !== undefined && { body }) };
    return { authorization, "x-acting-assertion": await signAssertion({ key, privateKey, actingUser, audience }, asked) };
  };
}

async function installationOf(baseUrl: string, fetch: Fetch): Promise<string> {
  const response = await fetch(new URL(`${baseUrl.replace(/\/$/, "")}/health`), {});
  const text = await response.text();
  const health = JSON.parse(text) as Schema<"Health">;
  return health.service.instance_id;
}

/**
 * For a change that is to happen only if the record is still as it was read; otherwise the service answers `412 precondition_failed`.
 * @param read a record, or the answer it came in
 * @returns for `params.header`
 */
export function ifMatch(read: { revision: number } | Response): { "If-Match": string } {
  if (!(read instanceof Response)) return { "If-Match": `"v${read.revision.toString()}"` };
  const tag = read.headers.get("etag");
  if (tag === null) throw new TypeError("The answer has no ETag: name the record itself, or the answer of a route that has one");
  return { "If-Match": tag };
}
