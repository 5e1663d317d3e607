import { z } from "zod";
import { type Route, route } from "./route.ts";

/** `GET /openapi.json`, served from the one document of the app. */
export function documentRoute(document: () => Record<string, unknown>): Route {
  return route(
    {
      method: "get",
      path: "/openapi.json",
      operationId: "getOpenApiDocument",
      tags: ["documents"],
      summary: "This document",
      access: { public: true },
      success: { status: 200, shape: "flat", schema: z.looseObject({ openapi: z.string() }), description: "An OpenAPI 3.1 document" },
    },
    async () => document() as { openapi: string },
  );
}
