import type { FieldValues, Run, Shown, User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { shortPauses } from "../features/review-cards-ground.ts";
import { createWorld, type Level, type World } from "../support/world.ts";
import { formLines, messageLines } from "./shown.ts";

/** One thing that somebody reads, and when. */
export interface Exhibit {
  area: string;
  title: string;
  /** As it comes from the service, line by line. */
  lines: string[];
}

type Options = NonNullable<Parameters<ReturnType<ReturnType<World["sandbox"]["as"]>["in"]>["runSlashCommand"]>[1]>;

interface More {
  /** What is filled in where a form is shown; the gallery shows the form too. */
  form?: FieldValues;
  /** The question that is asked first is answered with its first button. */
  yes?: true;
}

export type Stage = Awaited<ReturnType<typeof createStage>>;

const start = Date.UTC(2026, 2, 2, 10);
const names: Readonly<Record<Level, string>> = { owner: "olivia", admin: "ada", senior: "sam", moderator: "mona", viewer: "vera" };

/** A community whose people all read one language, and what they have read. The service's clock goes on by a minute with each command. */
export async function createStage(locale: string, onEnd: (end: () => Promise<void>) => void) {
  let minutes = 0;
  const clock = { now: () => new Date(start + minutes * 60_000) };
  const world = await createWorld({ clock, onEnd, pauses: shortPauses, env: { PUBLIC_URL: "http://127.0.0.1:0" } });
  const { sandbox, guild, roles } = world;
  guild.allowCommands(Object.values(roles));
  guild.setPreferredLocale(locale);
  const exhibits: Exhibit[] = [];
  const links: string[] = [];
  const quoted = new Set<string>();
  let area = "";

  const person = async (level: Level): Promise<User> => Object.assign(await world.staff(level, names[level]), { locale });
  const people = {
    olivia: await person("owner"),
    ada: await person("admin"),
    sam: await person("senior"),
    mona: await person("moderator"),
    vera: await person("viewer"),
    rogue: Object.assign(world.member("rogue"), { locale }),
    resident: Object.assign(world.member("resident8"), { locale }),
  };

  const show = (title: string, lines: string[]): void => {
    // The servers of a person stand in the order of their keyed hashes, which are others in each run.
    exhibits.push({ area, title, lines: title.includes("/intel servers") ? lines.toSorted() : lines });
  };

  /** The reply once nothing of what it reports on is under way. */
  async function settled(run: Run): Promise<Shown> {
    const first = await run.reply();
    const shown = (): Shown => run.current() ?? first;
    await sandbox.waitFor(() => !/^… /m.test(shown().content), 10_000).catch(() => undefined);
    return shown();
  }

  async function follow(title: string, run: Run, { form, yes }: More): Promise<Shown> {
    await sandbox.waitFor(() => run.interaction.answered);
    if (run.interaction.modal !== null) {
      show(`${title}: the form`, formLines(run.interaction.modal));
      if (form === undefined) return { content: "" } as Shown;
      return follow(title, await run.submitModal(form), yes === undefined ? {} : { yes });
    }
    const reply = await settled(run);
    show(title, messageLines(reply));
    links.push(...(/https?:\/\/[^\s)>]+\/authorize\/[\w-]+/.exec(JSON.stringify(reply))?.slice(0, 1) ?? []));
    const question = reply.components.flatMap(({ components = [] }) => components).find(({ custom_id: id = "" }) => /^go:.*:yes$/.test(id));
    if (yes === undefined || question === undefined) return reply;
    const before = JSON.stringify(run.current()?.content);
    const pressed = await run.clickButton({ custom_id: question.custom_id ?? "" });
    await sandbox.waitFor(() => pressed.interaction.answered || JSON.stringify(run.current()?.content) !== before);
    const done = pressed.followups().at(-1) ?? pressed.current() ?? reply;
    show(`${title}: yes`, messageLines(done));
    return done;
  }

  return {
    world,
    guild,
    people,
    exhibits,
    /** Texts that people typed. */
    quoted,
    /** Links to consent pages that were given. */
    links,
    clock,
    begin: (name: string) => void (area = name),
    show,
    wait: (count: number) => void (minutes += count),
    /** A command, and everything that is shown until it is done. */
    async say(who: User, words: string, options: Options = {}, more: More = {}): Promise<Shown> {
      // What is left of the command before is done in its minute: by the bot, and the entries of what was refused, which are written later and together.
      await world.app.deliveries.deliverDue(systemCall("job", uuid7()));
      await world.app.lists.worker.catchUp(systemCall("job", uuid7()));
      await world.app.audit.flushDenied();
      minutes += 1;
      for (const text of [...Object.values(options), ...Object.values(more.form ?? {})])
        if (typeof text === "string") quoted.add(text).add(text.replace(/\.$/, ""));
      const given = Object.entries(options).map(
        ([name, value]) => `${name}:${typeof value === "object" ? `@${"username" in value ? value.username : value.name}` : String(value)}`,
      );
      const title = `@${who.username}: /${[words, ...given].join(" ")}`;
      return follow(title, await sandbox.as(who).in(guild).runSlashCommand(words, options), more);
    },
    async menu(who: User, name: string, target: User, more: More = {}): Promise<Shown> {
      minutes += 1;
      return follow(`@${who.username}: ${name} ▸ @${target.username}`, await sandbox.as(who).in(guild).runUserCommand(name, target), more);
    },
    /** A button or a menu of the last answer of a run. */
    follow,
  };
}

/** The first id of a record in what was shown, or behind its buttons and menus. */
export function idIn(shown: Partial<Shown>): string {
  const found = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/.exec(JSON.stringify(shown).replaceAll("\\", ""));
  if (found === null) throw new Error(`no id in ${JSON.stringify(shown)}`);
  return found[0];
}

/** The first reference in what was shown. */
export function referenceIn({ content = "", embeds = [] }: Partial<Shown>): string {
  const found = /[A-Z]{2,}(?:-[A-Z]+)*-\d{4,}/.exec(`${content} ${JSON.stringify(embeds)}`.replaceAll("\\", ""));
  if (found === null) throw new Error(`no reference in ${content} ${JSON.stringify(embeds)}`);
  return found[0];
}

/** Ids, times and secrets as people see them, or as words that are the same in each run. */
export function steady(line: string, { world, people, guild, clock }: Stage): string {
  const users = new Map(
    Object.values(world.sandbox.inside.world.users.size > 0 ? [...world.sandbox.inside.world.users.values()] : Object.values(people)).map(
      (user) => [user.id, user.username],
    ),
  );
  const roleNames = new Map([...(world.sandbox.inside.world.guilds.get(guild.id)?.roles.values() ?? [])].map(({ id, name }) => [id, name]));
  const channels = new Map(
    [...world.sandbox.inside.world.channels.values()].map((channel) => [channel.id, "name" in channel ? String(channel.name) : "dm"]),
  );
  const nameOf = (id: string): string =>
    (id === guild.id ? guild.name : undefined) ?? users.get(id) ?? roleNames.get(id) ?? channels.get(id) ?? "somebody";
  return (
    line
      .replaceAll(/\\([\\*_`~|<>#[\]()@:+-])/g, "$1")
      .replaceAll(/<t:(-?\d+)(?::(\w))?>/g, (_all, seconds: string, style: string) =>
        timeText(Number(seconds) * 1000, style, clock.now().getTime()),
      )
      .replaceAll(/<@&(\d+)>/g, (_all, id: string) => `@${nameOf(id)}`)
      .replaceAll(/<@!?(\d+)>/g, (_all, id: string) => `@${nameOf(id)}`)
      .replaceAll(/<#(\d+)>/g, (_all, id: string) => `#${nameOf(id)}`)
      .replaceAll(/<(\/[\w -]+):\d+>/g, "$1")
      .replaceAll(/(?<!\d)\d{17,20}(?!\d)/g, (id) => `(id of ${nameOf(id)})`)
      .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, "(uuid)")
      .replaceAll(/\b[\da-f]{64}\b/g, "(hash)")
      .replaceAll(/`[\w-]{43}`/g, "(salt)")
      // Refused attempts are written a little later and together, so places in the chain are others in each run.
      .replaceAll(/^`\d+` (?=<t:|\d{4}-)/g, "`(n)` ")
      .replaceAll(/(?<=^> .*: )\d+(?:, \d+)+/g, "(n)")
      .replaceAll(/(?<=^• (?:audit entries about you|Protokolleinträge über dich): )\d+/g, "(n)")
      .replaceAll(/\d+ (?=entries agree|Einträge stimmen)/g, "(n) ")
      .replaceAll(/(?<=Signed up to entry |Unterschrieben bis Eintrag )\d+/g, "(n)")
      .replaceAll(/`(?=[a-z\d]*[A-Z\d])[A-Za-z\d]{12}`/g, "(key id)")
      .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "https://harbour.example")
      .replaceAll(/prv_live_\w+/g, "prv_live_…")
      .replaceAll(/whsec_[\w+/=]+/g, "whsec_…")
      .replaceAll(/(\/authorize\/)[\w-]{16,}/g, "$1…")
  );
}

function timeText(ms: number, style: string, now: number): string {
  if (style !== "R")
    return new Date(ms)
      .toISOString()
      .slice(0, style === "D" || style === "d" ? 10 : 16)
      .replace("T", " ");
  const minutes = Math.round((ms - now) / 60_000);
  const size = Math.abs(minutes);
  const text =
    size < 60
      ? `${size.toString()} min`
      : size < 2880
        ? `${Math.round(size / 60).toString()} h`
        : `${Math.round(size / 1440).toString()} d`;
  return minutes < 0 ? `${text} ago` : `in ${text}`;
}
