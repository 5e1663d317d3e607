const second = 1000;
const hour = 3600 * second;

/** After so many attempts an effect has failed. */
export const maxAttempts = 12;
/** How long an attempt is nobody else's: an action ends within ten seconds. */
export const leaseSeconds = 60;

/** A message that may have been sent is sent again soon: Discord recognises it for minutes only. */
const message = { first: 2 * second, most: 240 * second };
const usual = { first: 30 * second, most: hour };

/**
 * When an effect is tried again, in milliseconds from now.
 * @param attempts how often it was tried
 * @param leastMs as long as Discord wants it left alone
 */
export function pauseAfter(attempts: number, { isMessage = false, leastMs = 0 } = {}): number {
  const { first, most } = isMessage ? message : usual;
  const jitter = 0.75 + Math.random() / 2;
  return Math.max(leastMs, Math.min(first * 2 ** (attempts - 1), most) * jitter);
}
