type Cookie = { name: string; value: string; host: string; path: string; isStrict: boolean };

/** Cookies by host and path, as a browser keeps them; expiry counts only where it deletes. */
export function createCookieJar(start: URL, given: Record<string, string>) {
  const cookies = new Map<string, Cookie>();
  const put = (cookie: Cookie) => cookies.set(`${cookie.host} ${cookie.path} ${cookie.name}`, cookie);
  for (const [name, value] of Object.entries(given)) put({ name, value, host: start.hostname, path: "/", isStrict: false });

  return {
    store(url: URL, headers: readonly string[]): void {
      for (const header of headers) {
        const [pair = "", ...parts] = header.split(";").map((part) => part.trim());
        const at = pair.indexOf("=");
        const rules = new Map(
          parts.map((part): [string, string] => {
            const [key = "", value = ""] = part.split("=");
            return [key.toLowerCase(), value];
          }),
        );
        const path = rules.get("path") || "/";
        const cookie = {
          name: pair.slice(0, at),
          value: pair.slice(at + 1),
          host: url.hostname,
          path,
          isStrict: rules.get("samesite")?.toLowerCase() === "strict",
        };
        if (cookie.name.startsWith("__Host-") && !(rules.has("secure") && path === "/" && !rules.has("domain"))) continue;
        const age = rules.get("max-age");
        const expires = rules.get("expires");
        const over = age !== undefined ? Number(age) <= 0 : expires !== undefined && Date.parse(expires) <= Date.now();
        if (over) cookies.delete(`${cookie.host} ${path} ${cookie.name}`);
        else put(cookie);
      }
    },
    /** @param isCrossSite whether another site sent the browser here, where SameSite=Strict stays at home */
    header: (url: URL, isCrossSite: boolean) =>
      [...cookies.values()]
        .filter(({ host, path, isStrict }) => host === url.hostname && covers(path, url.pathname) && !(isStrict && isCrossSite))
        .map(({ name, value }) => `${name}=${value}`)
        .join("; "),
    all: () => Object.fromEntries([...cookies.values()].map(({ name, value }) => [name, value])),
  };
}

const covers = (path: string, wanted: string) => wanted === path || wanted.startsWith(path.endsWith("/") ? path : `${path}/`);
