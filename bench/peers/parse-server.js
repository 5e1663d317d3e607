import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

/** Parse Server as its own documentation starts it, with one trigger: what is saved gets an audit row, and is answered once that is written. */
const [, , folder = "", masterKey = ""] = process.argv;
const { PORT, DATABASE_URL } = process.env;
const load = createRequire(join(folder, "package.json"));
const { ParseServer } = load("parse-server");
const express = load("express");

const server = new ParseServer({
  appId: "peers",
  masterKey,
  databaseURI: DATABASE_URL,
  serverURL: `http://127.0.0.1:${PORT ?? ""}/parse`,
  logsFolder: null,
  allowClientClassCreation: false,
  cloud(parse) {
    parse.Cloud.afterSave("Blacklist", async ({ object, user }) => {
      const entry = { action: "create", actor: user?.id, target: object.id, record: object.toJSON() };
      await new parse.Object("Audit").save(entry, { useMasterKey: true });
    });
  },
});
await server.start();
const app = express();
app.use("/parse", server.app);
createServer(app).listen(Number(PORT), "127.0.0.1");
