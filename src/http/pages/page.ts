import type { z } from "zod";
import type { HttpContext } from "../context.ts";
import type { Method } from "../../operations/route.ts";

export type PageMethod = Extract<Method, "get" | "post">;

/** One HTML page or redirect: the same pipeline as a route, without key and without JSON. */
export interface PageSpec<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Form extends z.ZodObject = z.ZodObject,
> {
  method: PageMethod;
  path: string;
  /** Names the page in logs and in the document. */
  operationId: string;
  summary: string;
  /** Schemas see text; a part that does not fit its schema answers a page of its own before the handler. */
  request?: { params?: Params; query?: Query; form?: Form };
  /** Its form has files: the handler receives it, once it knows from whom. */
  hasFiles?: true;
  /** Whether the OpenAPI document lists this page. */
  document?: boolean;
  tags?: string[];
}

export interface PageInput<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Form extends z.ZodObject = z.ZodObject,
> {
  params: z.output<Params>;
  query: z.output<Query>;
  form: z.output<Form>;
}

export interface HtmlPage {
  spec: PageSpec;
  handle(c: HttpContext, input: PageInput): Promise<Response>;
}

/** Describe one page. Whatever its handler throws becomes a page that says what to do, with the request id. */
export function page<
  Params extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Form extends z.ZodObject = z.ZodObject<Record<never, never>>,
>(spec: PageSpec<Params, Query, Form>, handler: (c: HttpContext, input: PageInput<Params, Query, Form>) => Promise<Response>): HtmlPage {
  return { spec, handle: handler };
}
