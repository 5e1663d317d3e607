import { z } from "zod";

/** @returns a stored value without what names the person; the value itself where it names nothing */
export type Scrub = (value: unknown, userId: string) => unknown;

const Facts = z.looseObject({ nickname: z.string() });
const Nicknames = z.looseObject({ nicknames: z.array(z.looseObject({ user_id: z.string() })) });
const Contacts = z.array(z.looseObject({ user_id: z.string() }));
const Answers = z.array(z.looseObject({ reason: z.string().optional() }));

/** What names the person in JSON of each sort. */
export const scrubs = {
  /** The name in what a guild showed of somebody. */
  nickname(facts) {
    const { success, data } = Facts.safeParse(facts);
    return success ? { ...data, nickname: null } : facts;
  },

  /** Names that a repair of callsigns keeps for as long as it can be undone. */
  nicknamesOf(undo, userId) {
    const { success, data } = Nicknames.safeParse(undo);
    return success ? { ...data, nicknames: data.nicknames.filter((one) => one.user_id !== userId) } : undo;
  },

  /** The person among the contacts of a server. */
  contact(contacts, userId) {
    const { success, data } = Contacts.safeParse(contacts);
    return success ? data.filter((one) => one.user_id !== userId) : contacts;
  },

  /** Why somebody declined a change. */
  answerReasons(answers) {
    const { success, data } = Answers.safeParse(answers);
    return success ? data.map(({ reason: _, ...answer }) => answer) : answers;
  },
} as const satisfies Readonly<Record<string, Scrub>>;
