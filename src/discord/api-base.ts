const loopback = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether the address is this machine, where plain http is accepted. */
export function isLoopback(url: URL): boolean {
  return loopback.test(url.hostname);
}

/**
 * The address of a Discord-compatible API in the one form discord.js accepts: with the `/api` part, without a trailing slash.
 * @throws Error saying what is wrong, never repeating credentials
 */
export function normalizeApiBase(text: string): string {
  if (!URL.canParse(text)) throw new Error("The Discord API address is not a URL.");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") throw new Error("The Discord API address must start with https://.");
  if (url.username !== "" || url.password !== "") throw new Error("The Discord API address must not hold credentials.");
  if (url.search !== "" || url.hash !== "") throw new Error("The Discord API address must end with its path.");
  if (url.protocol === "http:" && !isLoopback(url)) throw new Error("The Discord API address must use https outside this machine.");
  const path = url.pathname.replace(/\/+$/, "");
  if (!path.endsWith("/api")) throw new Error("The Discord API address must end with /api, such as https://discord.com/api.");
  return `${url.origin}${path}`;
}
