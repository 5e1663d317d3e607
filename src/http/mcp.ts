import { say, worded } from "../kit/say.ts";
import type { Handler } from "hono";
import { z } from "zod";
import type { Call } from "../kernel/call.ts";
import { type FieldError, ProblemError, validationProblem } from "../kernel/errors.ts";
import type { RouteSpec } from "../operations/route.ts";
import { type HttpEnv, type RequestInfo, respond, header } from "./context.ts";
import type { HttpDeps } from "./deps.ts";
import { asError } from "./problem.ts";
import { createBodyReader } from "./request/body.ts";

/**
 * Refuse a page of another site: by a name that leads to this machine (DNS rebinding) it could speak to a service that only this machine
 * reaches. Programs send no `Origin`.
 * @throws ProblemError permission_denied
 */
function requireOwnOrigin(request: RequestInfo, ownAddress: string): void {
  const origin = header(request, "origin");
  if (origin === undefined || origin === new URL(ownAddress).origin) return;
  throw new ProblemError("permission_denied", { detail: "Pages of other sites may not call this address.", extra: { origin } });
}

export interface McpOptions {
  /** Answers one message of the Model Context Protocol. */
  answer(asked: { request: Request; message: unknown; call: Call; info: RequestInfo }): Promise<Response>;
  /** The address of the service. */
  publicUrl: () => string;
}

/** `POST /mcp`. It is no operation of the contract, but a door to them: neither the document nor the routes of `/health` list it. */
export const mcpSpec: RouteSpec = {
  method: "post",
  path: "/mcp",
  operationId: "mcp",
  tags: ["mcp"],
  summary: "The operations as tools of the Model Context Protocol",
  // What a caller may do is decided for each tool.
  access: { public: true, credentials: "optional" },
  limit: "read",
  request: { body: z.unknown() },
  success: {
    status: 200,
    shape: "raw",
    mediaType: ["application/json", "text/event-stream"],
    schema: z.unknown(),
    description: "A message of the protocol",
  },
};

/** The protocol has no batches any more: one request could ask for the work of thousands. */
const noBatch = {
  status: 400,
  type: "application/json",
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: null,
    error: { code: -32_600, message: "A batch is not taken. Send each message in a request of its own." },
  }),
};

/** Takes a message from a known key and a named person. Nothing is kept between two of them, and no answer stays open. */
export function handleMcp({ answer, publicUrl }: McpOptions, { gate }: HttpDeps): Handler<HttpEnv> {
  const readBody = createBodyReader(mcpSpec);
  return async (c) => {
    const info = c.get("request");
    const { call, checkBody } = c.get("caller");
    requireOwnOrigin(info, publicUrl());
    if (call.client === null) throw new ProblemError("invalid_credentials");
    if (call.actor === null) throw new ProblemError("acting_user_required", { detail: say("http.name-the-staff-member-this-is-done") });
    const body = await readBody(c);
    const leave = await gate.acquire();
    try {
      await checkBody?.(body.digest());
      const errors: FieldError[] = [];
      const message = body.parse(errors);
      if (errors.length > 0) throw validationProblem(errors);
      if (Array.isArray(message)) return respond(c, { ...noBatch, headers: { "cache-control": "no-store" } });
      const request = new Request(`${publicUrl()}${mcpSpec.path}`, { method: "POST", headers: c.req.raw.headers });
      const answered = await answer({ request, message, call, info });
      const type = answered.headers.get("content-type") ?? "application/json";
      // The library tells of wrong fields itself, in JSON within its message.
      const text = worded(await answered.text());
      return respond(c, { status: answered.status, type, body: text === "" ? null : text, headers: { "cache-control": "no-store" } });
    } catch (error) {
      throw asError(error);
    } finally {
      leave();
    }
  };
}
