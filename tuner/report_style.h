// How a report looks: light and dark, on paper, on a phone.
#pragma once

namespace tw::tuner {

inline constexpr const char* kReportStyle = R"(
:root{color-scheme:light dark;--page:#fafaf8;--panel:#fff;--text:#1b1f24;--muted:#59626b;
--line:#dde0e3;--winner:#0b61a4;--hot:#b0440c;--other:#6a737c;--won:#eef5fb}
@media (prefers-color-scheme:dark){:root{--page:#15181b;--panel:#1c2024;--text:#e4e7ea;
--muted:#9ca5ae;--line:#343a40;--winner:#6bb3ee;--hot:#f0945a;--other:#98a1aa;--won:#1d2b38}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:82rem;padding:1.5rem 2rem 4rem;background:var(--page);
color:var(--text);font:15px/1.5 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.5rem;margin:0 0 .25rem}
h2{font-size:1.25rem;margin:3rem 0 .5rem;padding-top:1rem;border-top:2px solid var(--line)}
h3{font-size:1.1rem;margin:2.5rem 0 .1rem}
h4{font-size:.95rem;margin:1.5rem 0 .5rem}
p{margin:.4rem 0;max-width:48rem}
a{color:var(--winner)}
code{font:.87em ui-monospace,monospace}
small,.note,figcaption{color:var(--muted);font-size:.82rem}
.family{color:var(--muted)}
.box{overflow-x:auto;background:var(--panel);border:1px solid var(--line);border-radius:6px}
.box:focus-visible,summary:focus-visible{outline:2px solid var(--winner)}
table{border-collapse:collapse;width:100%;font-size:.87rem;line-height:1.35;
font-variant-numeric:tabular-nums}
th,td{padding:.4rem .7rem;text-align:left;vertical-align:middle}
tbody tr+tr{border-top:1px solid var(--line)}
thead th{color:var(--muted);font-weight:500;vertical-align:bottom;
border-bottom:1px solid var(--line)}
td code,.n small{white-space:nowrap}
.run{min-width:14rem}
.why{min-width:13rem}
.why code{white-space:normal}
.n{text-align:right;white-space:nowrap}
tr.won{background:var(--won)}
.tag{font-size:.72rem;font-weight:600;border:1px solid;border-radius:3px;padding:0 .3em;
color:var(--muted);white-space:nowrap}
.won .tag:first-of-type{color:var(--winner)}
.bad{color:var(--hot);font-weight:600}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.6rem 1.5rem;
margin:1rem 0}
dt{color:var(--muted);font-size:.82rem}
dd{margin:0;font-variant-numeric:tabular-nums}
details{margin:.5rem 0}
summary{cursor:pointer;padding:.3rem 0}
.pair{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,35rem),1fr))}
.pair>div{min-width:0}
.pair th,.pair td{padding:.35rem .45rem}
.pair .run{min-width:11rem}
.pair h5{margin:.5rem 0;font-size:.87rem;font-weight:500;color:var(--muted)}
figure{margin:1rem 0;max-width:52rem}
figcaption{margin-top:.5rem}
figcaption span{margin-right:1.2rem;white-space:nowrap}
figcaption svg{vertical-align:-2px}
svg{display:block}
figcaption svg{display:inline}
.plot{overflow:visible}
.plot text{font-size:10px;fill:var(--muted);text-anchor:middle}
line{stroke:var(--other);stroke-width:1.5}
line.one{stroke:var(--muted);stroke-width:1;stroke-dasharray:2 2}
line.axis{stroke:var(--muted);stroke-width:1}
.winner{fill:var(--winner);stroke:var(--winner)}
.base{fill:var(--panel);stroke:var(--text);stroke-width:1.8}
.other{fill:var(--other);stroke:var(--other)}
.unsure{fill:none;stroke:var(--other);stroke-width:1.3;stroke-dasharray:2 1.5}
.roofline{width:100%;min-width:36rem}
.roofline text{font-size:12px;fill:var(--text)}
.roofline .tick{fill:var(--muted)}
.middle{text-anchor:middle}
.end{text-anchor:end}
line.grid{stroke:var(--line);stroke-width:1}
line.limit{stroke:var(--text);stroke-width:1.8}
.streamed{stroke:var(--winner);stroke-width:1.6}
.hot{stroke:var(--hot);stroke-width:1.6}
.filled.streamed{fill:var(--winner)}
.filled.hot{fill:var(--hot)}
.hollow{fill:var(--panel)}
@media (max-width:40rem){body{padding:1rem .9rem 3rem}}
@media print{body{max-width:none;padding:0;font-size:11px}
.box{overflow:visible;border:0}
tr,figure,.pair>div{break-inside:avoid}
h2,h3,h4,summary{break-after:avoid}
details::details-content{content-visibility:visible;block-size:auto}}
)";

}  // namespace tw::tuner
