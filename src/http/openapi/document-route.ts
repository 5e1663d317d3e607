import { hash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import { type RawAnswer, type Route, route } from "../../operations/route.ts";

/** `GET /openapi.json`, written once from the one document of the app. */
export function documentRoute(document: () => Record<string, unknown>): Route {
  let written: RawAnswer | undefined;
  const write = (): RawAnswer => {
    const body = Buffer.from(JSON.stringify(document()));
    const etag = `W/"${hash("sha256", body, "base64url").slice(0, 22)}"`;
    return { body, gzip: gzipSync(body), headers: { etag, "cache-control": "no-cache", vary: "Accept-Encoding" } };
  };
  return route(
    {
      method: "get",
      path: "/openapi.json",
      operationId: "getOpenApiDocument",
      tags: ["documents"],
      summary: "This document",
      access: { public: true },
      success: {
        status: 200,
        shape: "raw",
        mediaType: "application/json",
        hasEtag: true,
        schema: z.looseObject({ openapi: z.string() }),
        description: "An OpenAPI 3.1 document",
      },
    },
    async () => (written ??= write()),
  );
}
