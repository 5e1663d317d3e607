/**
 * What most features have to do, and the ways in which it is done, each as what stands in a file that does it so. The first one is the way that
 * stays.
 */
export const jobs: Readonly<Record<string, readonly RegExp[]>> = {
  "one page of a list": [/\blistPage[<(]/, /\btoPage[<(]/, /\bwalk(?:edPage)?[<(]/],
  "a setting that is stored whole": [
    /\bsetting\(\{/,
    /\bcreateGuildSetting\b/,
    /\bcreateChannelsService\b/,
    /\bcreateStancesService\b/,
    /\bcreatePolicies\b/,
  ],
  "work done later": [/\bcreateTasks\b/, /\binTurn\b/],
  "acting on a person in Discord": [/\bcreateActs?\b|discord-actions\/act\.ts/, /from "[./]*rest\/attachments\.ts"/],
  "find, plan, fix and undo": [/kit\/findings\.ts/, /\bcreateFixings?\b|\bcreateFixes\b/, /\bcreateRepairUndo\b|\bcreateApply\b/],
  "texts for people": [/kit\/say\.ts/, /: Sentences\b/, /\btexts\(\{/, /\bTranslateSentence\b/, /\bValueText\b/],
  "a record with a revision": [/\brecord\(\{/, /\brequireRevision\(/],
  "permission and parsing": [/\boperations\(/, /\brequire(?:Write|Permission)\(/],
  rows: [/\.(?:db|read)\.[a-z]\w+\.\w+\(/, /\$select\(|\$queryRaw|\$executeRaw/],
};
