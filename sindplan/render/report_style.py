"""How the page of a plan looks: light or dark as the reader's system is."""

STYLE = """
:root {
  color-scheme: light dark;
  --back: #ffffff; --text: #1f2328; --dim: #59636e; --line: #d1d9e0; --field: #f6f8fa; --focus: #0969da;
  --gone: #b3261e; --changed: #825500; --new: #1a7f37; --gone-back: #ffebe9; --new-back: #dafbe1;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0d1117; --text: #e6edf3; --dim: #9198a1; --line: #3d444d; --field: #151b23; --focus: #4493f8;
    --gone: #ff8f87; --changed: #e3b341; --new: #56d364; --gone-back: #3c1618; --new-back: #12331d;
  }
}
* { box-sizing: border-box; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
body { margin: 0 auto; padding: 1rem; max-width: 100rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 1.25rem 0 .5rem; }
header p { margin: .25rem 0; }
code, pre, svg text { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
code, pre { font-size: 13px; }
h1 code { font-size: inherit; }
a { color: inherit; }
ul { margin: .25rem 0; padding-left: 1.25rem; }
.dim, legend { color: var(--dim); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.note { border-left: 4px solid var(--line); border-radius: 0 6px 6px 0; background: var(--field); padding: .5rem .75rem;
  margin: .75rem 0; white-space: pre-line; max-height: 50vh; overflow: auto; }
.note.gone { border-color: var(--gone); }
.note.changed { border-color: var(--changed); }
.gone { color: var(--gone); } .changed { color: var(--changed); } .new { color: var(--new); }
.note.gone, .note.changed { color: var(--text); }
.skip:not(:focus) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
#graph { overflow: auto; max-height: 60vh; border: 1px solid var(--line); border-radius: 6px; background: var(--field); }
#graph.fit svg { width: 100%; height: auto; }
#graph + p { margin: .25rem 0; }
svg { display: block; }
svg text { font-size: 11px; fill: var(--text); }
svg text.says { font-weight: 600; }
svg text.scope { fill: var(--dim); font-weight: 600; }
svg rect { fill: var(--back); stroke: var(--dim); }
svg rect.band { fill: none; stroke: var(--line); }
svg .gone rect { stroke: var(--gone); } svg .changed rect { stroke: var(--changed); } svg .new rect { stroke: var(--new); }
svg .along rect { stroke-dasharray: 4; }
svg .final rect { stroke-width: 3; }
svg .arrow { fill: none; stroke: var(--dim); opacity: .7; }
svg .tip { fill: var(--dim); }
svg .arrow.near { stroke: var(--focus); stroke-width: 2; opacity: 1; }
svg a { outline: none; }
svg a.near rect { stroke: var(--focus); }
svg a:hover rect, svg a:focus rect { stroke: var(--focus); stroke-width: 3; }
svg a.off { opacity: .3; }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; position: sticky; top: 0; z-index: 1;
  padding: .5rem 0; background: var(--back); border-bottom: 1px solid var(--line); }
fieldset { display: flex; flex-wrap: wrap; gap: .25rem 1rem; border: 0; margin: 0; padding: 0; }
label { white-space: nowrap; }
[hidden] { display: none; }
input[type=search] { flex: 1 1 16rem; }
input[type=search], select, button { font: inherit; color: inherit; background: var(--field); border: 1px solid var(--line);
  border-radius: 6px; padding: .25rem .5rem; }
input::placeholder { color: var(--dim); opacity: 1; }
select { max-width: min(100%, 20rem); }
input[type=search] { min-width: 0; }
button { cursor: pointer; }
button:hover { border-color: var(--dim); }
button[aria-pressed=true] { border-color: var(--focus); }
output { color: var(--dim); min-width: 8rem; text-align: right; }
#actions { list-style: none; margin: 0; padding: 0; }
#actions > li { border-bottom: 1px solid var(--line); scroll-margin-top: 4rem; }
#actions > li:target { background: var(--field); }
summary { cursor: pointer; padding: .35rem .25rem; }
summary:hover { background: var(--field); }
summary code { margin-left: .5rem; display: inline-block; }
.inner { padding: 0 .25rem .75rem 1.25rem; }
.inner > p { margin: 0 0 .25rem; }
.block { margin: .5rem 0; }
.block p { margin: 0; }
pre { margin: .25rem 0 0; padding: .5rem .75rem; background: var(--field); border: 1px solid var(--line); border-radius: 6px;
  white-space: pre-wrap; }
pre ins, pre del { display: block; margin: 0 -.75rem; padding: 0 .75rem; text-decoration: none; }
pre ins { background: var(--new-back); }
pre del { background: var(--gone-back); }
@media (max-width: 40rem) { form { position: static; } #actions > li { scroll-margin-top: 0; } }
@media print {
  form, #graph, #graph + p, #graph-title { display: none; }
  .note { max-height: none; }
}
"""
