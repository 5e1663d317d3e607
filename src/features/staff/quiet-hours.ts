/** A stretch of the week in which somebody is not to be asked. */
export interface QuietHours {
  /** On which days it begins, 0 is Sunday; without them on every day. */
  days?: number[] | undefined;
  /** `22:00` */
  from: string;
  /** Not later than `from`: on the next day. */
  to: string;
}

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const otherwise = "UTC";
/** Making a format costs far more than using it; there are only so many zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** Names such as `Europe/Berlin`; offsets such as `+02:00` know no summer time and are no zones. */
const zoneForm = /^[A-Za-z][\w+-]*(\/[\w+-]+)*$/;

/** Whether this is the name of an IANA time zone. */
export function isTimeZone(name: string): boolean {
  return formatOf(name) !== undefined;
}

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  const key = zone.toLowerCase();
  const known = formats.get(key);
  if (known !== undefined || !zoneForm.test(zone)) return known;
  try {
    const made = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      weekday: "short",
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    });
    formats.set(key, made);
    return made;
  } catch {
    return undefined;
  }
}

/**
 * Whether these hours are quiet at a moment, by the clock on the wall: summer time moves them along.
 * @param zone UTC where there is none
 */
export function isQuietAt(hours: readonly QuietHours[], zone: string | null, at: Date): boolean {
  if (hours.length === 0) return false;
  const clock = wallClock(zone ?? otherwise, at);
  return hours.some((one) => covers(one, clock));
}

/** Where in the week a moment is: `day` 0 is Sunday, `minute` counts since midnight. */
function wallClock(zone: string, at: Date) {
  const parts = (formatOf(zone) ?? formatOf(otherwise))?.formatToParts(at) ?? [];
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((one) => one.type === type)?.value ?? "";
  return { day: weekdays.indexOf(part("weekday")), minute: Number(part("hour")) * 60 + Number(part("minute")) };
}

/** Hours that end no later than they begin go over midnight: the morning belongs to the day before. */
function covers({ days, from, to }: QuietHours, { day, minute }: ReturnType<typeof wallClock>): boolean {
  const [start, end] = [minuteOf(from), minuteOf(to)];
  const isOn = (which: number): boolean => days === undefined || days.includes(which);
  if (start < end) return isOn(day) && minute >= start && minute < end;
  return (isOn(day) && minute >= start) || (isOn((day + 6) % 7) && minute < end);
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}
