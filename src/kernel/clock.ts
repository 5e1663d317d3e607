/** The time of day, injectable so that expiry and leases can be tested. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** Later than any time that can be given: the place in an order of what has no date. */
export const never = new Date("9999-12-31T23:59:59.999Z");

/** `at` moved by whole or broken seconds. */
export function addSeconds(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000);
}

/** A moment in seconds since the epoch; 0 for one that has not come. */
export function epochSeconds(at: Date | undefined): number {
  return at === undefined ? 0 : at.getTime() / 1000;
}
