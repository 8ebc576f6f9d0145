"""Two hundred texts that would run, open or inject something in a page that does not escape."""

from __future__ import annotations

from itertools import product

BREAKS = ("", '">', "'>", "</pre>", "</script>", "-->", "</title></head>", "]]>")
VECTORS = (
    "<script>{run}</script>",
    "<img src=x pwned onerror={run}>",
    "<svg pwned onload={run}>",
    "<svg><script pwned>{run}</script></svg>",
    "<body pwned onload={run}>",
    "<iframe pwned srcdoc='<script>parent.{run}</script>'></iframe>",
    "<iframe pwned src=javascript:{run}></iframe>",
    "<a pwned href=javascript:{run} autofocus onfocus={run}>x</a>",
    "<input pwned autofocus onfocus={run}>",
    "<details pwned open ontoggle={run}>",
    "<video pwned><source onerror={run}></video>",
    "<math pwned><mtext></p><img src=x onerror={run}>",
    "<object pwned data=javascript:{run}></object>",
    "<embed pwned src=javascript:{run}>",
    "<meta pwned http-equiv=refresh content='0;url=javascript:{run}'>",
    "<link pwned rel=stylesheet href=data:text/css,*{{color:red}}>",
    "<style pwned>@keyframes x{{}}</style><b style=animation-name:x onanimationstart={run}>",
    "<form pwned action=javascript:{run}><button autofocus onfocus={run}>x</button></form>",
    "<base pwned href=javascript:{run}//>",
    "<template pwned><script>{run}</script></template>",
    "' onmouseover={run} pwned x='",
    '" onfocus={run} autofocus pwned x="',
    "{{{{ self.__init__.__globals__ }}}}{{% raw %}}<u pwned>",
    "&lt;img src=x pwned onerror={run}&gt;<i pwned>",
    "\u202e\x1b[31m\u2028<s pwned>\ufeff%3Cscript%3E{run}%3C/script%3E",
)
RUN = "(window.ran=(window.ran||0)+1,alert(1))"
PAYLOADS = [start + vector.format(run=RUN) for vector, start in product(VECTORS, BREAKS)]
assert len(set(PAYLOADS)) == 200
