import { fail, pass, skip, type Finding } from "../findings.ts";
import { Health } from "../status-checks.ts";
import { answerMs, unanswered, type Ground } from "./ground.ts";

/** Whether browsers that open `PUBLIC_URL` reach this installation, through whatever stands in front of it. */
export async function address({ config: { http }, server }: Ground): Promise<Finding[]> {
  if (!http.isPublic) return [skip("PUBLIC_URL is not set")];
  const running = await server();
  if (running === undefined) return [skip("no server runs here: start it and run this again")];
  const { publicUrl } = http;
  let response: Response;
  try {
    response = await fetch(`${publicUrl}/health`, { signal: AbortSignal.timeout(answerMs) });
  } catch (error) {
    return [
      fail(
        `PUBLIC_URL: ${publicUrl} does not answer (${unanswered(error)}), though the server runs, so nobody can open its pages: check the DNS entry of the name, the certificate, and the reverse proxy.`,
      ),
    ];
  }
  const health = Health.safeParse(await response.json().catch(() => undefined)).data;
  if (health?.service.instance_id === running.service.instance_id) return [pass(publicUrl)];
  const what =
    health === undefined ? `answers with something else (status ${response.status.toString()})` : "leads to another installation";
  return [
    fail(`PUBLIC_URL: ${publicUrl} ${what}, so nobody can open the pages of this one: let the reverse proxy pass it to this server.`),
  ];
}
