import { cookieName, cookieText } from "../../../pages/cookie.ts";

/** How long a sign-in lasts. */
export const signInSeconds = 900;
/** How long the way to Discord and back may take. */
export const wayToDiscordSeconds = 900;

const name = "privacy";

interface Place {
  publicUrl: () => string;
}

/** The cookie of the privacy page that the browser brought. */
export function privacyCookieOf(place: Place, cookies: Readonly<Record<string, string>>): string | undefined {
  return cookies[cookieName(place, name)];
}

/** A `Set-Cookie` that gives it to the browser, or takes it away where the value is null. */
export function privacyCookie(place: Place, value: string | null, seconds: number): string {
  return cookieText(place, name, value, seconds);
}
