import type { Context, Hono } from "hono";
import { attachmentUrl } from "../cdn.ts";
import { acts, optionsOf, type Act } from "./acts.ts";
import { Page, style } from "./page.tsx";
import { suggestedPeople } from "./choices.ts";
import { commandFields, openModal, panels } from "./panels.tsx";
import { script } from "./script.ts";
import { createRoomState, type RoomContext, type RoomState } from "./state.ts";
import { viewOf } from "./view.ts";

const policy = {
  "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/** What is suggested to a field that takes a person; everything else comes from the application. */
const people = "@people";

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
    if (guilds.length === 0) return c.text("There is no server yet. Create one with sandbox.createGuild.", 200, policy);
    const page = <Page guilds={guilds} view={viewOf(state, new URL(c.req.url).searchParams)} />;
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
      return { panels: panels(state, view), modal: openModal(state, view) };
    }),
  );
  app.get("/sandbox/api/fields", (c) => answer(c, () => ({ html: commandFields(state, looked(c), c.req.query("command") ?? "") })));
  app.post("/sandbox/api/acts/:act", (c) => answer(c, () => perform(state, c)));
  app.post("/sandbox/api/suggestions", (c) => answer(c, () => suggestions(state, c)));
}

/** A page of another name that leads here (rebinding) and a form of another page are both refused. */
function isLocal(c: Context): boolean {
  const { hostname } = new URL(c.req.url);
  return (hostname === "127.0.0.1" || hostname === "localhost") && (c.req.method === "GET" || c.req.header("x-sandbox-room") === "1");
}

/** What a person did wrong is said in a sentence, not thrown. */
async function answer(c: Context, work: () => object | Promise<object>): Promise<Response> {
  try {
    return c.json(await work());
  } catch (error) {
    return c.json({ said: sentence(error instanceof Error ? error.message : "that did not work"), choices: [] }, 400);
  }
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?\u2026]$/.test(text) ? "" : ".");
}

async function readAct(state: RoomState, c: Context): Promise<Act> {
  const form = await c.req.raw.formData();
  const { guild, user, language } = viewOf(state, form);
  user.locale = language;
  return { state, form, guild, user };
}

async function perform(state: RoomState, c: Context): Promise<object> {
  const act = acts[c.req.param("act") ?? ""];
  if (!act) throw new Error("the page is of another version: load it again");
  return { said: await act(await readAct(state, c)) };
}

async function suggestions(state: RoomState, c: Context): Promise<object> {
  const act = await readAct(state, c);
  const focused = String(act.form.get("focused"));
  const value = String(act.form.get("typed") ?? "");
  if (focused === people) return { choices: suggestedPeople(state.world, act.guild, value) };
  const words = String(act.form.get("command")).replace(/^1:/, "");
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
