/** @returns whether npx was asked to run this program (`npx provost serve`), in a shell of its own */
export function isRunByNpx({ npm_lifecycle_event: event, npm_lifecycle_script: script } = process.env): boolean {
  return event === "npx" && script?.includes("provost") === true;
}
