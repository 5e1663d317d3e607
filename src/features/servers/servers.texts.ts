import { texts } from "../../kernel/texts.ts";

/** The texts about the register of servers: commands, options and values by the keys of `keysOf` and `choiceKeys`, and what replies say. */
export const serversTexts = texts({
  en: {
    "intel server": "The register of servers the community knows of",
    "intel server list": "Registered servers, newest first",
    "intel server show": "One registered server",
    "intel server register": "Register a server",
    "intel server edit": "Change a registered server",
    "intel server agreements": "What a server has agreed about recruiting",
    "intel server incidents": "When a server recruited from others",
    "intel server list status": "Servers in this state",
    "intel server register status": "How it stands to the community; known unless told",
    "intel server edit status": "How it stands to the community",
    "intel server register server": "Id of the server at Discord",
    "intel server pick": "Look at one of these servers",
    "empty intel server agreements": "This server has agreed nothing.",
    "empty intel server incidents": "Nothing is known of this server.",
  },
  de: {
    "intel server": "Das Verzeichnis der Server, die die Community kennt",
    "intel server list": "Verzeichnete Server, die neuesten zuerst",
    "intel server show": "Einen verzeichneten Server zeigen",
    "intel server register": "Einen Server verzeichnen",
    "intel server edit": "Einen verzeichneten Server ändern",
    "intel server agreements": "Was ein Server über das Abwerben vereinbart hat",
    "intel server incidents": "Wann ein Server bei anderen abgeworben hat",
    "intel server list status": "Server in diesem Zustand",
    "intel server register status": "Wie er zur Community steht; bekannt, wenn nichts gesagt ist",
    "intel server edit status": "Wie er zur Community steht",
    "intel server register server": "ID des Servers bei Discord",
    "intel server pick": "Einen dieser Server ansehen",
    "empty intel server agreements": "Dieser Server hat nichts vereinbart.",
    "empty intel server incidents": "Über diesen Server ist nichts bekannt.",
  },
});
