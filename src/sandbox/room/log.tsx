import type { Recorder } from "../recorder.ts";

const mostLines = 60;
const mostText = 4000;

const fold = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value, null, 1).slice(0, mostText));

/** What went over the wire, newest first; headers are left out, bodies folded. */
export function Log({ recorder }: { recorder: Recorder }) {
  const rest = recorder.exchanges.slice(-mostLines).map(({ at, method, path, status, requestBody, responseBody }) => ({
    at,
    title: `${status} ${method} ${path}`,
    body: [fold(requestBody), fold(responseBody)].filter((part) => part !== "").join("\n\n"),
  }));
  const gateway = recorder.gatewayLog.slice(-mostLines).map(({ at, direction, op, t, d }) => ({
    at,
    title: `gateway ${direction} ${t ?? (op === null ? "" : `op ${op}`)}`,
    // Who identifies itself tells its token.
    body: op === 2 || op === 6 ? "" : fold(d),
  }));
  const lines = [...rest, ...gateway].toSorted((a, b) => b.at - a.at).slice(0, mostLines);
  return (
    <ol class="log">
      {lines.map(({ at, title, body }) => (
        <li>
          {body === "" ? (
            <p>{title}</p>
          ) : (
            <details data-key={`${at} ${title}`}>
              <summary>{title}</summary>
              <pre tabindex={0}>{body}</pre>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}
