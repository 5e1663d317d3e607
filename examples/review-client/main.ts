import { createProvostClient, ifMatch, ProvostError } from "provost/client";

const usage = `Usage:
  main.ts list                                              open requests, and what may be done with each
  main.ts claim|approve|deny <type> <reference> [<reason>]  take one on, or decide it`;

const { PROVOST_URL: baseUrl, PROVOST_KEY: key, PROVOST_ACTING_USER: actingUser } = process.env;
if (baseUrl === undefined || key === undefined || actingUser === undefined)
  throw new Error("Set PROVOST_URL, PROVOST_KEY and PROVOST_ACTING_USER, the Discord id of the staff member who reviews.");
const client = createProvostClient({ baseUrl, key, actingUser });

async function list(): Promise<void> {
  const query = { status: "open", sort: "created_at" } as const;
  for await (const { reference, type, status, title, allowed_actions: allowed } of client.paginate("/workflows", { params: { query } }))
    console.log([reference, type, status, title, allowed.join(" ")].join(" | "));
}

/** Counts only for the request as it is read here: somebody who changes it in between is told of, and nothing is decided. */
async function decide(decision: "claim" | "approve" | "deny", type: string, id: string, reason?: string): Promise<void> {
  const read = await client.GET("/workflows/{type}/{id}", { params: { path: { type, id }, query: { why_not: "true" } } });
  const { allowed_actions: allowed, why_not: whyNot } = read.data.data;
  if (!allowed.includes(decision)) throw new Error(`You cannot ${decision} ${id}: ${JSON.stringify(whyNot?.[decision])}`);
  const { data } = await client.POST("/workflows/{type}/{website_id}/decision", {
    params: { path: { type, website_id: id }, header: ifMatch(read.data.data) },
    body: { decision, ...(reason !== undefined && { reason }) },
  });
  const { have, required } = data.approvals;
  console.log(`${data.reference} is ${data.status}: ${have.toString()} of ${required.toString()} approvals`);
}

const [command, type, reference, reason] = process.argv.slice(2);
try {
  if (command === "list") await list();
  else if ((command === "claim" || command === "approve" || command === "deny") && type !== undefined && reference !== undefined)
    await decide(command, type, reference, reason);
  else throw new Error(usage);
} catch (error) {
  if (error instanceof ProvostError && error.errors.length > 0)
    for (const { pointer, detail } of error.errors) console.error(`${pointer}: ${detail}`);
  else console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
