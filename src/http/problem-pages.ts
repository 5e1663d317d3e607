import { z } from "zod";
import { problems, type ProblemCode } from "../kernel/errors.ts";
import { type HtmlPage, page } from "./page.ts";
import { escapeHtml } from "./page-door.ts";

/** The pages the `type` of a problem leads to, one for each code of the registry. */
export function problemPages(): HtmlPage[] {
  return [
    page(
      {
        method: "get",
        path: "/problems/{code}",
        operationId: "getProblemPage",
        summary: "What a problem code means",
        tags: ["documents"],
        request: { params: z.object({ code: z.string() }) },
        document: true,
      },
      async ({ params: { code } }) => {
        if (!Object.hasOwn(problems, code))
          return { status: 404, headers: {}, body: sheet("No such problem", "This code is not in use here.") };
        const { status, title, ...rest }: { status: number; title: string; retryable?: boolean } = problems[code as ProblemCode];
        const advice =
          rest.retryable === true ? "The same request may succeed later." : "The same request will not succeed unless something changes.";
        return {
          status: 200,
          headers: { "Cache-Control": "public, max-age=3600" },
          body: sheet(code, `${title}. It is sent with status ${status}. ${advice}`),
        };
      },
    ),
  ];
}

function sheet(heading: string, text: string): string {
  const title = escapeHtml(heading);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${escapeHtml(text)}</p></html>\n`;
}
