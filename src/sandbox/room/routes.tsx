import type { Context, Hono } from "hono";
import { attachmentUrl } from "../cdn.ts";
import { acts, optionsOf, type Act } from "./acts.ts";
import { Page, style } from "./page.tsx";
import { commandFields, openModal, panels, type View } from "./panels.tsx";
import { script } from "./script.ts";
import { createRoomState, type RoomContext, type RoomState } from "./state.ts";

const policy = {
  "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/** The control room, below `/sandbox` of the sandbox's own origin. */
export function mountRoom(app: Hono, context: RoomContext): void {
  const state = createRoomState(context);
  app.use("/sandbox/*", async (c, next) => {
    if (!isLocal(c)) return c.text("The control room is for this machine only.", 403);
    await next();
    for (const [name, value] of Object.entries(policy)) c.header(name, value);
    return undefined;
  });
  app.get("/sandbox", (c) => {
    if (!isLocal(c)) return c.text("The control room is for this machine only.", 403);
    const guilds = [...state.world.guilds.values()];
    if (guilds.length === 0) return c.text("There is no guild yet.", 200, policy);
    const page = <Page state={state} guilds={guilds} view={viewOf(state, new URL(c.req.url).searchParams)} />;
    return c.html(`<!doctype html>${String(page)}`, 200, policy);
  });
  app.get("/sandbox/script.js", (c) => c.body(script, 200, { "content-type": "text/javascript; charset=utf-8" }));
  app.get("/sandbox/style.css", (c) => c.body(style, 200, { "content-type": "text/css; charset=utf-8" }));
  app.get("/favicon.ico", (c) => c.body(null, 204));
  app.get("/sandbox/files/:folder/:channel/:id/:name", (c) => toFile(state, c));
  const looked = (c: Context) => viewOf(state, new URL(c.req.url).searchParams);
  app.get("/sandbox/api/view", (c) =>
    answer(c, () => {
      const view = looked(c);
      return { panels: panels(state, view), modal: openModal(state, view.user) };
    }),
  );
  app.get("/sandbox/api/fields", (c) => answer(c, () => ({ html: commandFields(state, looked(c).guild, c.req.query("command") ?? "") })));
  app.post("/sandbox/api/acts/:act", (c) => answer(c, () => perform(state, c)));
  app.post("/sandbox/api/suggestions", (c) => answer(c, () => suggestions(state, c)));
}

/** A page of another name that leads here (rebinding) and a form of another page are both refused. */
function isLocal(c: Context): boolean {
  const { hostname } = new URL(c.req.url);
  return (hostname === "127.0.0.1" || hostname === "localhost") && (c.req.method === "GET" || c.req.header("x-sandbox-room") === "1");
}

/** What the page looks at: the guild and person it names, else the first ones. */
function viewOf({ world }: RoomState, query: { get(name: string): unknown }): View {
  const guild = world.guilds.get(String(query.get("guild"))) ?? [...world.guilds.values()][0];
  if (!guild) throw new Error("there is no guild yet");
  const named = guild.members.get(String(query.get("as")))?.user;
  const user = named ?? [...guild.members.values()].map((member) => member.user).find(({ bot }) => !bot);
  if (!user) throw new Error(`nobody is in ${guild.name}`);
  const page = Number(query.get("page") ?? 0);
  return { guild, user, page: Number.isInteger(page) && page > 0 ? page : 0 };
}

/** What a person did wrong is said, not thrown. */
async function answer(c: Context, work: () => object | Promise<object>): Promise<Response> {
  try {
    return c.json(await work());
  } catch (error) {
    return c.json({ said: error instanceof Error ? error.message : "that did not work", choices: [] }, 400);
  }
}

async function readAct(state: RoomState, c: Context): Promise<Act> {
  const form = await c.req.raw.formData();
  const { guild, user } = viewOf(state, form);
  const language = form.get("language");
  if (typeof language === "string") user.locale = language;
  return { state, form, guild, user };
}

async function perform(state: RoomState, c: Context): Promise<object> {
  const act = acts[c.req.param("act") ?? ""];
  if (!act) throw new Error("the page knows no such thing");
  return { said: await act(await readAct(state, c)) };
}

async function suggestions(state: RoomState, c: Context): Promise<object> {
  const act = await readAct(state, c);
  const words = String(act.form.get("command")).replace(/^1:/, "");
  const focused = String(act.form.get("focused"));
  const value = String(act.form.get(`v:${focused}`) ?? "");
  act.form.delete(`v:${focused}`);
  const options = await optionsOf(act, words);
  return { choices: await state.keys(act.user, act.guild).autocomplete(words, { focused, value, options }) };
}

/** Leads to the present address of a file. */
function toFile({ world }: RoomState, c: Context): Response {
  const { folder, channel = "", id } = c.req.param();
  const messages = [...(world.channels.get(channel)?.messages.values() ?? [])].flatMap((message) => message.attachments);
  const isEphemeral = folder === "ephemeral-attachments";
  const file = isEphemeral ? world.files.get(id ?? "") : messages.find((known) => known.id === id);
  return file ? c.redirect(attachmentUrl(world, file, { channelId: channel, isEphemeral })) : c.text("This file is gone.", 404);
}
