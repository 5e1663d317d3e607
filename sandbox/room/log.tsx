import type { Recorder } from "../recorder.ts";

const maxLines = 60;
const maxText = 4000;

const fold = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value, null, 1).slice(0, maxText));

/** What went over the wire, newest first; headers are left out, bodies folded. */
export function Log({ recorder }: { recorder: Recorder }) {
  const rest = recorder.exchanges.slice(-maxLines).map(({ at, method, path, status, requestBody, responseBody }) => ({
    at,
    title: `${status} ${method} ${path}`,
    body: [fold(requestBody), fold(responseBody)].filter((part) => part !== "").join("\n\n"),
  }));
  const gateway = recorder.gatewayLog.slice(-maxLines).map(({ at, direction, op, t, d }) => ({
    at,
    title: `gateway ${direction} ${t ?? (op === null ? "" : `op ${op}`)}`,
    // The body of an identification has the token.
    body: op === 2 || op === 6 ? "" : fold(d),
  }));
  const lines = [...rest, ...gateway].toSorted((a, b) => b.at - a.at).slice(0, maxLines);
  if (lines.length === 0) return <p>The bot has not connected yet.</p>;
  return (
    <ol class="log">
      {lines.map(({ at, title, body }) => (
        <li data-key={`${at} ${title}`}>
          {body === "" ? (
            <p>{title}</p>
          ) : (
            <details data-key={`${at} ${title} body`}>
              <summary>{title}</summary>
              <pre tabindex={0}>{body}</pre>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}
