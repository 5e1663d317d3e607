import { texts } from "../../kernel/texts.ts";

/** The texts about the register of servers: commands, options and values by the keys of `keysOf` and `choiceKeys`, and what replies say. */
export const serversTexts = texts({
  en: {
    "intel server": "The register of servers the community knows of",
    "intel server list": "List the registered servers, newest first",
    "intel server show": "See one registered server",
    "intel server register": "Add a server to the register",
    "intel server edit": "Change a registered server",
    "intel server agreements": "See what a server has agreed about recruiting",
    "intel server incidents": "See when a server recruited from others",
    "intel server list status": "Only servers in this state",
    "intel server register status": "What it is to the community; known if you leave it out",
    "intel server edit status": "What it is to the community",
    "intel server register server": "The id of the server at Discord",
    "intel server pick": "Look at one of these servers",
    "empty intel server agreements": "This server has agreed nothing.",
    "empty intel server incidents": "Nothing is known of this server.",
  },
  de: {
    "intel server": "Das Verzeichnis der Server, die die Community kennt",
    "intel server list": "Die verzeichneten Server auflisten, die neuesten zuerst",
    "intel server show": "Einen verzeichneten Server ansehen",
    "intel server register": "Einen Server ins Verzeichnis aufnehmen",
    "intel server edit": "Einen verzeichneten Server ändern",
    "intel server agreements": "Ansehen, was ein Server über das Abwerben vereinbart hat",
    "intel server incidents": "Ansehen, wann ein Server bei anderen abgeworben hat",
    "intel server list status": "Nur Server in diesem Zustand",
    "intel server register status": "Was er für die Community ist; bekannt, wenn du es weglässt",
    "intel server edit status": "Was er für die Community ist",
    "intel server register server": "Die ID des Servers bei Discord",
    "intel server pick": "Einen dieser Server ansehen",
    "empty intel server agreements": "Dieser Server hat nichts vereinbart.",
    "empty intel server incidents": "Über diesen Server ist nichts bekannt.",
  },
});
