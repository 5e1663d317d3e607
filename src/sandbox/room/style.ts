/** The page's own look; every text keeps a contrast of 4.5 and every control 44 pixels. */
export const style = `:root { color-scheme: light; --ink: #1b1d22; --soft: #4b5160; --page: #ffffff; --panel: #f3f4f7; --edge: #7a8090; --accent: #3340b8; --danger: #a3171f; --good: #1c6b34; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 75rem; margin: 0 auto; padding: 1rem; }
.banner { margin: 0; padding: .5rem 1rem; background: #5a3a00; color: #ffffff; text-align: center; font-weight: bold; }
section { border-top: 1px solid var(--edge); margin-top: 1rem; }
.panel { max-height: 40rem; overflow: auto; }
label { display: inline-flex; align-items: center; min-height: 44px; min-width: 44px; }
input, select, textarea, button { font: inherit; color: var(--ink); background: var(--page); border: 1px solid var(--edge); border-radius: 6px; padding: .5rem .75rem; min-height: 44px; max-width: 100%; }
input:not([type=checkbox]):not([type=file]), textarea { width: 20rem; }
button { min-width: 44px; cursor: pointer; }
button.primary { background: var(--accent); color: #ffffff; }
button.success { background: var(--good); color: #ffffff; }
button.danger { background: var(--danger); color: #ffffff; }
button:disabled { border-style: dashed; cursor: not-allowed; }
summary { min-height: 44px; min-width: 44px; padding: .5rem 0; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
p { margin: .5rem 0; }
p label + input, p label + select, p label + textarea { margin-left: .5rem; }
#said { position: sticky; top: 0; z-index: 1; background: var(--page); color: var(--ink); }
.row { display: flex; flex-wrap: wrap; gap: .5rem; }
.message, .answer { background: var(--panel); color: var(--ink); border-radius: 6px; padding: .5rem .75rem; margin: .5rem 0; }
.text { white-space: pre-wrap; }
.small { color: var(--soft); font-size: .875rem; }
.tag { margin-left: .5rem; border: 1px solid var(--edge); border-radius: 4px; padding: 0 .25rem; }
.embed { display: flex; gap: .75rem; background: var(--page); color: var(--ink); border-radius: 4px; margin: .5rem 0; padding: .5rem; }
.bar { width: 4px; min-width: 4px; height: auto; align-self: stretch; }
.title { font-weight: bold; }
dt { font-weight: bold; } dd { margin: 0; }
table { border-collapse: collapse; } caption { text-align: left; }
th, td { overflow-wrap: break-word; border-bottom: 1px solid var(--edge); padding: .25rem .5rem; text-align: left; font-weight: normal; }
pre { background: var(--panel); color: var(--ink); overflow: auto; max-height: 20rem; padding: .5rem; white-space: pre-wrap; }
dialog { border: 2px solid var(--edge); border-radius: 8px; max-width: 40rem; color: var(--ink); background: var(--page); }
dialog::backdrop { background: #000000aa; }
td .row { flex-wrap: nowrap; }
.log { padding-left: 2.5rem; }
`;
