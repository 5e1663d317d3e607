/** How phones, people and spreadsheets write what somebody means. Everything here is linear in the text. */

const invisible = /\p{Default_Ignorable_Code_Point}/gu;

/** A text without what nobody sees, and with one form for each character, such as digits of full width. */
export function plainText(text: string): string {
  return text.normalize("NFKC").replace(invisible, "").replaceAll("\u3002", ".");
}

/** What stands in a cell, without what spreadsheets and people put around it. */
export function cellText(text: string): string {
  const bare = plainText(text).trim();
  const formula = /^=\s*"([^"]*)"$/.exec(bare)?.[1] ?? bare;
  return /^(?:'([^']*)'?|"([^"]*)"|`([^`]*)`)$/.exec(formula)?.slice(1).find(Boolean)?.trim() ?? formula.trim();
}

const accountForms = /^(?:<@!?(\d+)>|(?:https?:\/\/)?(?:(?:www|ptb|canary)\.)?discord(?:app)?\.com\/users\/(\d+)\/?)$/i;

/** What stands in a cell that names an account: the id out of a mention or a link to a profile, or the cell as it is. */
export function accountIn(text: string): string {
  const cell = cellText(text);
  const found = accountForms.exec(cell);
  return found?.[1] ?? found?.[2] ?? cell;
}
