/** Texts by key. */
export type Texts = Readonly<Record<string, string>>;

/** Names of menus, titles of permissions and of refusals stand in the code in English; other languages have them among their texts. */
type OtherKey = `> ${string}` | `problem ${string}` | `permission ${string}`;

/** Checks that a text is there in every language: one that lacks, and one that no other language has, does not compile. */
export function texts<Key extends string>(
  given: Readonly<{ en: Readonly<Record<Key, string>>; de: Readonly<Record<NoInfer<Key>, string> & Record<OtherKey, string>> }>,
): typeof given {
  return given;
}
