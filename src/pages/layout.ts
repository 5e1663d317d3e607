import { html } from "hono/html";

/** HTML whose inserted texts have been made harmless. */
export type Markup = ReturnType<typeof html>;

/**
 * A whole page.
 * @param base path prefix of the pages, "" at the root
 * @param title the heading and the name of the tab
 */
export async function layout(base: string, title: string, content: Markup): Promise<string> {
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="stylesheet" href="${base}/authorize/style.css" />
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html>`;
  return page.toString();
}

/** A time as people read it, in UTC, with the exact one for programs. */
export function timeText(at: Date): Markup {
  const iso = at.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}

/** The one style of the pages: readable on a phone, light and dark. */
export const style = `:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f3f4f8; --text: #1d2129; --soft: #525a66; --edge: #7d8590; --link: #3b46b5;
  --accent: #4752c4; --on-accent: #ffffff; --danger: #b3261e; --on-danger: #ffffff; --button: #e7e9f0; --on-button: #1d2129;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15171c; --panel: #1f2229; --text: #e9ebef; --soft: #b3bac5; --edge: #7f8794; --link: #b0b8ff;
    --accent: #4f5bd5; --on-accent: #ffffff; --danger: #c4342b; --on-danger: #ffffff; --button: #2d313b; --on-button: #e9ebef;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 40rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.0625rem; line-height: 1.35; margin: 0 0 0.375rem; }
p { margin: 0 0 0.75rem; }
ul { margin: 0 0 0.75rem; padding-left: 1.25rem; }
li { margin-bottom: 0.25rem; }
section { background: var(--panel); color: var(--text); border-radius: 0.75rem; padding: 0.875rem 1rem; margin: 0 0 0.75rem; }
section > :last-child { margin-bottom: 0; }
dl { margin: 0; }
dt { font-weight: 600; }
dd { margin: 0 0 0.5rem; }
.soft, time { color: var(--soft); }
time { white-space: nowrap; }
a { color: var(--link); }
form { margin: 0.75rem 0 0; }
button, .button { display: block; width: 100%; min-height: 3rem; padding: 0.75rem 1rem; font: inherit; font-weight: 600; text-align: center; text-decoration: none; background: var(--button); color: var(--on-button); border: 1px solid var(--edge); border-radius: 0.625rem; cursor: pointer; }
.agree { background: var(--accent); color: var(--on-accent); border-color: var(--accent); }
.danger { background: var(--danger); color: var(--on-danger); border-color: var(--danger); }
label { display: flex; align-items: center; gap: 0.75rem; min-height: 2.75rem; cursor: pointer; }
input[type="checkbox"] { flex: none; width: 1.5rem; height: 1.5rem; margin: 0; }
summary { padding: 0.625rem 0; font-weight: 600; cursor: pointer; }
a:focus-visible, button:focus-visible, input:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 3px; }
`;
