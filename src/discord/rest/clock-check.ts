import type { Logger } from "pino";
import type { Clock } from "../../kernel/clock.ts";

interface ClockCheckOptions {
  clock: Clock;
  logger: Pick<Logger, "warn">;
}

/** An answer takes a few seconds at most, and its time has no parts of a second. */
const allowedMs = 60_000;
/** How often the clocks are compared at most, and a warning is logged. */
const everyMs = 3_600_000;

/** Warns when the clock of this machine is far from Discord's, whose answers say what time it is there. */
export function createClockCheck({ clock, logger }: ClockCheckOptions) {
  let lookedAt = -Infinity;

  return {
    /** @param date the header `Date` of an answer that has just come */
    answered(date: string | null): void {
      const now = performance.now();
      if (now - lookedAt < everyMs) return;
      const there = Date.parse(date ?? "");
      if (Number.isNaN(there)) return;
      lookedAt = now;
      const seconds = Math.round((clock.now().getTime() - there) / 1000);
      if (Math.abs(seconds) * 1000 <= allowedMs) return;
      const way = seconds > 0 ? "ahead of" : "behind";
      logger.warn(
        { seconds },
        `The clock of this machine is ${shown(Math.abs(seconds))} ${way} Discord's: records and the audit get wrong times, and what has an end ends too early or too late. Set it by the network, such as with \`timedatectl set-ntp true\`, and restart.`,
      );
    },
  };
}

function shown(seconds: number): string {
  const [amount, unit] =
    seconds < 7200 ? [seconds / 60, "minutes"] : seconds < 172_800 ? [seconds / 3600, "hours"] : [seconds / 86_400, "days"];
  const whole = Math.round(amount);
  return `${whole.toString()} ${whole === 1 ? unit.slice(0, -1) : unit}`;
}
