import type { PrivacyDeps } from "./wipe.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { Site } from "../../pages/site.ts";
import { createErasures } from "./erasures.ts";
import { withCopy } from "./journal/copy.ts";
import { createJournal } from "./journal/journal.ts";
import { privacyPages } from "./privacy.pages.ts";
import { privacyRoutes } from "./privacy.routes.ts";
import { createPrivacyService } from "./privacy.service.ts";
import { createDataReads } from "./reads.ts";
import { createSignIn, type SignInService } from "./sign-in/sign-in.service.ts";

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
    };
  },
  jobs: ({ signIn }) => ({ signIn: signIn.sweep }),
  close: ({ reads }) => reads.close(),
});

interface PrivacyNeeds extends Omit<PrivacyDeps, "hashOf">, Site {
  hashOfPerson: PrivacyDeps["hashOf"];
  signIn: SignInService;
}

export const privacy = feature({
  create: ({ hashOfPerson, ...deps }: PrivacyNeeds) => ({ privacy: createPrivacyService({ ...deps, hashOf: hashOfPerson }) }),
  routes: ({ privacy }) => privacyRoutes(privacy),
  pages: (services) => privacyPages(services),
  jobs: ({ privacy }) => ({ privacy: privacy.sweep }),
  load: ({ privacy }) => privacy.catchUp(),
  close: ({ privacy }) => privacy.close(),
});
