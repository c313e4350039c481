"""How the page of a plan looks: light or dark as the reader's system is."""

STYLE = """
:root {
  color-scheme: light dark;
  --back: #ffffff; --text: #1f2328; --dim: #59636e; --line: #d1d9e0; --field: #f6f8fa;
  --gone: #b3261e; --changed: #8a5a00; --new: #1a7f37; --gone-back: #ffebe9; --new-back: #dafbe1;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0d1117; --text: #e6edf3; --dim: #9198a1; --line: #3d444d; --field: #151b23;
    --gone: #ff8f87; --changed: #e3b341; --new: #56d364; --gone-back: #3c1618; --new-back: #12331d;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 100rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
code, pre, svg text { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
code, pre { font-size: 13px; overflow-wrap: anywhere; }
a { color: inherit; }
ul { margin: .25rem 0; padding-left: 1.25rem; }
.dim { color: var(--dim); }
.note { border-left: 4px solid var(--line); background: var(--field); padding: .5rem .75rem; margin: .75rem 0; white-space: pre-line; }
.note.gone { border-color: var(--gone); }
.note.changed { border-color: var(--changed); }
.gone { color: var(--gone); } .changed { color: var(--changed); } .new { color: var(--new); }
.note, .note li { color: var(--text); }
#graph { overflow: auto; max-height: 70vh; border: 1px solid var(--line); border-radius: 6px; background: var(--field); }
svg { display: block; }
svg text { font-size: 11px; fill: var(--text); }
svg text.says { font-weight: 600; }
svg rect { fill: var(--back); stroke: var(--dim); }
svg .gone rect { stroke: var(--gone); } svg .changed rect { stroke: var(--changed); } svg .new rect { stroke: var(--new); }
svg .along rect { stroke-dasharray: 4; }
svg .final rect { stroke-width: 3; }
svg .arrow { fill: none; stroke: var(--dim); opacity: .6; }
svg a:focus rect, svg a:hover rect { stroke-width: 3; }
svg a.off { opacity: .25; }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; position: sticky; top: 0; padding: .5rem 0;
  background: var(--back); border-bottom: 1px solid var(--line); }
form[hidden], li[hidden] { display: none; }
input[type=search] { flex: 1 1 16rem; }
input[type=search], select, button { font: inherit; color: inherit; background: var(--field); border: 1px solid var(--line);
  border-radius: 6px; padding: .25rem .5rem; }
#actions { list-style: none; margin: 0; padding: 0; }
#actions > li { border-bottom: 1px solid var(--line); content-visibility: auto; contain-intrinsic-size: auto 2.2rem; }
#actions > li:target { background: var(--field); }
summary { cursor: pointer; padding: .35rem 0; }
summary code { margin-left: .5rem; }
.inner { padding: 0 0 .75rem 1.25rem; }
.block { margin: .5rem 0; }
.block p { margin: 0; }
pre { margin: .25rem 0; padding: .5rem; background: var(--field); border-radius: 6px; white-space: pre-wrap; }
pre ins { background: var(--new-back); text-decoration: none; }
pre del { background: var(--gone-back); text-decoration: none; }
@media print { form, #graph { display: none; } }
"""
