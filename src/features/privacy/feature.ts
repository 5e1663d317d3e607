import { privacyCommands } from "./privacy.commands.ts";
import type { PrivacyDeps } from "./wipe.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { Site } from "../../pages/site.ts";
import { createErasures } from "./erasures.ts";
import { createJournal, type Journal, type JournalLine } from "./journal/journal.ts";
import { privacyPages } from "./privacy.pages.ts";
import { privacyRoutes } from "./privacy.routes.ts";
import { createPrivacyService } from "./privacy.service.ts";
import { createDataReads } from "./reads.ts";
import { createSignIn, type SignInService } from "./sign-in/sign-in.service.ts";
import type { Logger } from "../../database/database.ts";

/** What was deleted, and who looked at whose data: every feature that keeps something about people asks or tells it. */
export const personalData = feature({
  create({ config, keyFor, oauth, keyring, database, publicUrl, clock, logger }: Core) {
    const key = keyFor("people");
    const hashOfPerson = (userId: string): string => keyedHash(key, userId);
    const own = createJournal(config.erasureJournal);
    const copy = config.erasureJournalCopy;
    const journal = copy === null ? own : withCopy(own, createJournal(copy), logger);
    const erasures = createErasures({ hashOf: hashOfPerson, journal });
    return {
      hashOfPerson,
      journal,
      erasures,
      reads: createDataReads({ database, erasures, clock, logger }),
      signIn: createSignIn({ database, oauth, keyring, clock, publicUrl }),
      appealSignIn: createSignIn({ database, oauth, keyring, clock, publicUrl, page: "appeal" }),
    };
  },
  jobs: ({ signIn, appealSignIn }) => ({ signIn: signIn.sweep, appealSignIn: appealSignIn.sweep }),
  close: ({ reads }) => reads.close(),
});

interface PrivacyNeeds extends Omit<PrivacyDeps, "hashOf" | "guildState">, Site, Pick<Core, "limiters" | "guildState" | "cluster"> {
  hashOfPerson: PrivacyDeps["hashOf"];
  signIn: SignInService;
}

export const privacy = feature({
  commands: privacyCommands,
  create: ({ hashOfPerson, ...deps }: PrivacyNeeds) => ({ privacy: createPrivacyService({ ...deps, hashOf: hashOfPerson }) }),
  routes: ({ privacy }) => privacyRoutes(privacy),
  pages: (services) => privacyPages(services),
  jobs: ({ privacy }) => ({ privacy: privacy.sweep }),
  // What was noted and refused is tried again; what other processes have deleted is written into the journal of this one.
  jobsEach: ({ reads, privacy, cluster }) => ({ dataReads: reads.flush, ...(cluster.isOn && { erasureJournal: privacy.copyLost }) }),
  load: ({ privacy }) => privacy.catchUp(),
  close: ({ privacy }) => privacy.close(),
});

/**
 * A journal with a copy in another place, for anyone who puts a whole folder back from a backup: what one of the two has lost, the
 * other gives back. The copy is written after the journal and may fail; then it is told once and made good at the next start.
 */
export function withCopy(journal: Journal, copy: Journal, logger: Logger): Journal {
  let isTold = false;

  async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isTold) logger.warn({ err: error }, "the copy of the journal of deletions cannot be kept; back the journal up yourself");
      isTold = true;
      return undefined;
    }
  }

  return {
    async append(lines) {
      await journal.append(lines);
      await attempt(() => copy.append(lines));
    },

    async read() {
      const own = await journal.read();
      const other = await attempt(() => copy.read());
      if (other === undefined) return own;
      const lost = without(other.lines, own.lines);
      if (lost.length > 0) logger.warn({ lines: lost.length }, "lines that the journal of deletions had lost were taken from its copy");
      await journal.append(lost);
      await attempt(() => copy.append(without(own.lines, other.lines)));
      return { lines: [...own.lines, ...lost].toSorted(byTime), isCut: own.isCut };
    },
  };
}

function without(lines: readonly JournalLine[], known: readonly JournalLine[]): JournalLine[] {
  const ids = new Set(known.map(({ id }) => id));
  return lines.filter(({ id }) => !ids.has(id));
}

function byTime(a: JournalLine, b: JournalLine): number {
  return a.at.getTime() - b.at.getTime() || (a.id < b.id ? -1 : 1);
}
