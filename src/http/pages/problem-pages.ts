import { z } from "zod";
import { problems, type ProblemCode } from "../../kernel/errors.ts";
import { type HtmlPage, page, plainPage } from "./page.ts";

/** The pages the `type` of a problem leads to, one for each code of the registry. */
export function problemPages(): HtmlPage[] {
  const spec = {
    method: "get",
    path: "/problems/{code}",
    operationId: "getProblemPage",
    summary: "What a problem code means",
    request: { params: z.object({ code: z.string() }) },
    document: true,
  } as const;
  return [
    page({ ...spec, tags: ["documents"] }, async (c, { params: { code } }) => {
      if (!Object.hasOwn(problems, code)) return c.html(sheet("No such problem", "This code is not in use here."), 404);
      const { status, title, ...rest }: { status: number; title: string; retryable?: boolean } = problems[code as ProblemCode];
      const advice =
        rest.retryable === true ? "The same request may succeed later." : "The same request will not succeed unless something changes.";
      return c.html(sheet(code, `${title}. It is sent with status ${status}. ${advice}`), 200, { "cache-control": "public, max-age=3600" });
    }),
  ];
}

const sheet = (heading: string, text: string): string => plainPage(heading, heading, text);
