import { hash } from "node:crypto";
import { z } from "zod";
import { type Route, route } from "../route.ts";

/** `GET /openapi.json`, written once from the one document of the app. */
export function documentRoute(document: () => Record<string, unknown>): Route {
  let written: { body: Buffer; headers: { ETag: string; "Cache-Control": string } } | undefined;
  const write = () => {
    const body = Buffer.from(JSON.stringify(document()));
    return { body, headers: { ETag: `"${hash("sha256", body, "base64url").slice(0, 22)}"`, "Cache-Control": "no-cache" } };
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
